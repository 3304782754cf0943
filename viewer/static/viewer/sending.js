// The list of what is being sent: a line per model, with its state, a bar and its buttons.
import { megabytes } from "./numbers.js";
import { forget } from "./remembered.js";
import { visible } from "./text.js";

function make(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}

function button(label, onclick) {
  return make("button", { type: "button", textContent: label, onclick });
}

export function line(list, title) {
  const row = make("li");
  const name = make("bdi", { textContent: visible(title) });
  const note = make("span", { className: "dim" });
  const bar = make("progress");
  const digest = make("span", { className: "mono digest", hidden: true });
  const buttons = make("span", { className: "buttons" });
  bar.setAttribute("aria-label", visible(title));
  row.append(name, note, bar, digest, buttons);
  list.append(row);
  const end = () => {
    bar.remove();
    buttons.remove();
  };
  return {
    say: (text) => (note.textContent = text),
    digest: (text) => {
      digest.hidden = false;
      digest.textContent = `SHA-256 ${text}`;
    },
    part: (done, whole) => {
      bar.max = whole || 1;
      bar.value = done;
    },
    controls: (control) => {
      const pause = button("Pause", () => {
        if (control.paused) control.resume();
        else control.pause();
        pause.textContent = control.paused ? "Go on" : "Pause";
        if (control.paused) note.textContent = "paused";
      });
      buttons.append(pause, button("Cancel", () => control.cancel()));
    },
    fail: (text) => {
      note.className = "bad";
      note.textContent = text;
      end();
    },
    done: (address) => {
      note.replaceChildren(make("a", { href: address, textContent: "Open the report" }));
      end();
    },
  };
}

// What was not finished before the page was left, with a way to forget it.
export function left(list, { name, size, print }) {
  const row = make("li");
  const note = make("span", { className: "dim" });
  note.textContent = `${megabytes(size)}, not finished: drop the file again and it goes on`;
  const drop = button("Forget", () => {
    forget(print);
    row.remove();
  });
  row.append(make("bdi", { textContent: visible(name) }), note, drop);
  list.append(row);
}
