// Files of this computer: send the header (or all) and go to the report.
import { visible } from "./text.js";
import { Upload, reason } from "./tus.js";

const FIRST_BYTES = 1024 * 1024; // most small models have their whole header in it
const POLL_MS = 400;
const form = document.querySelector("[data-drop]");
const input = form.elements.files;
const zone = form.querySelector(".zone");
const list = form.querySelector(".sending");
const csrf = document.querySelector("[name=csrfmiddlewaretoken]").value;

// One line per file: name, what is going on, a bar.
function line(file) {
  const row = document.createElement("li");
  const name = document.createElement("bdi");
  const note = document.createElement("span");
  const bar = document.createElement("progress");
  name.textContent = visible(file.name);
  note.className = "dim";
  bar.setAttribute("aria-label", visible(file.name));
  row.append(name, note, bar);
  list.append(row);
  return {
    say: (text) => (note.textContent = text),
    part: (done, whole) => {
      bar.max = whole || 1;
      bar.value = done;
    },
    fail: (text) => {
      note.className = "bad";
      note.textContent = text;
      bar.remove();
    },
    done: (address) => {
      const link = document.createElement("a");
      link.href = address;
      link.textContent = "Open the report";
      note.replaceChildren(link);
      bar.remove();
    },
  };
}

function megabytes(bytes) {
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

async function submit(upload) {
  const response = await fetch(form.dataset.inspections, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrf },
    body: JSON.stringify({ upload: upload.id }),
  });
  if (!response.ok) throw new Error(await reason(response));
  return (await response.json()).id;
}

// Follow the inspection until it ends, sending whatever range of the file it asks for.
async function follow(id, upload, row) {
  for (;;) {
    const response = await fetch(`${form.dataset.inspections}/${id}`);
    if (!response.ok) throw new Error(await reason(response));
    const state = await response.json();
    if (!["queued", "running"].includes(state.state)) return;
    if (state.needs) {
      const end = state.needs.offset + state.needs.length;
      row.say(`sending up to ${megabytes(end)} of the header`);
      await upload.sendUntil(end);
    } else {
      row.say(state.stage || state.state);
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }
}

async function send(file, headerOnly) {
  const row = line(file);
  const first = headerOnly ? Math.min(FIRST_BYTES, file.size) : file.size;
  const upload = new Upload(file, {
    endpoint: form.dataset.uploads,
    csrf,
    onSent: (bytes) => row.part(bytes, Math.max(bytes, first)),
  });
  try {
    row.say(headerOnly ? `sending the first ${megabytes(first)}` : `sending ${megabytes(first)}`);
    await upload.create({ headerOnly });
    await upload.sendUntil(first);
    const id = await submit(upload);
    await follow(id, upload, row);
    row.done(`${form.dataset.page}${id}/`);
    return id;
  } catch (error) {
    row.fail(error.message);
    return null;
  }
}

async function sendAll(files) {
  list.replaceChildren();
  input.disabled = true;
  const headerOnly = form.elements.depth.value === "header";
  const ids = [];
  for (const file of files) ids.push(await send(file, headerOnly));
  input.disabled = false;
  input.value = "";
  if (ids.length === 1 && ids[0]) location.assign(`${form.dataset.page}${ids[0]}/`);
}

input.addEventListener("change", () => input.files.length && sendAll([...input.files]));

// The whole page takes drops: beside the zone a browser would leave the page to show the file.
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  zone.classList.add("over");
});
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) zone.classList.remove("over");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  zone.classList.remove("over");
  if (!input.disabled && event.dataTransfer.files.length) sendAll([...event.dataTransfer.files]);
});
form.hidden = false;
