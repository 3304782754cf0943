// Follows a running inspection: replaces the status part, and reloads once nothing will change.
const STOP = 286;
const part = document.querySelector("[data-poll]");
const everyMs = Number(part.dataset.every) || 1000;
// A small header is judged within a blink: the first questions come sooner.
const FIRST_MS = 150;
const GROWTH = 1.5;
let pauseMs = FIRST_MS;
const live = document.querySelector("[data-live]");

// A document parsed by XMLHttpRequest runs no scripts and needs no innerHTML.
function fetchPart(url) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", url);
    request.responseType = "document";
    request.timeout = 10_000;
    request.onload = () => resolve(request);
    request.onerror = request.ontimeout = () => reject(new Error("no answer"));
    request.send();
  });
}

function announce(state) {
  const text = state.dataset.stage || state.dataset.state;
  if (live.textContent !== text) live.textContent = text;
}

async function poll() {
  try {
    const answer = await fetchPart(part.dataset.poll);
    if (answer.status === STOP || answer.status === 404) {
      location.reload();
      return;
    }
    const state = answer.response?.querySelector(".state");
    if (answer.status === 200 && state) {
      part.replaceChildren(document.adoptNode(state));
      announce(state);
    }
  } catch {
    live.textContent = "The server does not answer; trying again.";
  }
  later();
}

function later() {
  setTimeout(poll, pauseMs);
  pauseMs = Math.min(pauseMs * GROWTH, everyMs);
}

later();
