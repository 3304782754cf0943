// Files of this computer: send the header (or all) and go to the report.
import { dropped, models } from "./models.js";
import { visible } from "./text.js";
import { Upload, reason } from "./tus.js";

const FIRST_BYTES = 1024 * 1024; // most small models have their whole header in it
const POLL_MS = 400;
const form = document.querySelector("[data-drop]");
const input = form.elements.files;
const zone = form.querySelector(".zone");
const list = form.querySelector(".sending");
const csrf = document.querySelector("[name=csrfmiddlewaretoken]").value;

// One line per model: name, what is going on, a bar.
function line(title) {
  const row = document.createElement("li");
  const name = document.createElement("bdi");
  const note = document.createElement("span");
  const bar = document.createElement("progress");
  name.textContent = visible(title);
  note.className = "dim";
  bar.setAttribute("aria-label", visible(title));
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

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

async function submit(uploads, headerOnly) {
  const depth = headerOnly ? "header" : "full";
  const response = await fetch(form.dataset.inspections, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrf },
    body: JSON.stringify({ uploads: uploads.map((upload) => upload.id), depth }),
  });
  if (!response.ok) throw new Error(await reason(response));
  return (await response.json()).id;
}

// Follow the inspection until it ends, sending whatever range of whichever file it asks for.
async function follow(id, uploads, row) {
  for (;;) {
    const response = await fetch(`${form.dataset.inspections}/${id}`);
    if (!response.ok) throw new Error(await reason(response));
    const state = await response.json();
    if (!["queued", "running"].includes(state.state)) return;
    if (state.needs) {
      const end = state.needs.offset + state.needs.length;
      row.say(`sending up to ${megabytes(end)} of the header`);
      await uploads.find((upload) => upload.id === state.needs.upload).sendUntil(end);
    } else {
      row.say(state.stage || state.state);
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }
}

async function send(files, headerOnly) {
  const row = line(files.length > 1 ? `${files[0].name} (${files.length} shards)` : files[0].name);
  const sent = files.map(() => 0);
  const ends = files.map((file) => (headerOnly ? Math.min(FIRST_BYTES, file.size) : file.size));
  const first = sum(ends);
  const uploads = files.map((file, index) => {
    const onSent = (bytes) => {
      sent[index] = bytes;
      row.part(sum(sent), Math.max(sum(sent), first));
    };
    return new Upload(file, { endpoint: form.dataset.uploads, csrf, onSent });
  });
  try {
    row.say(headerOnly ? `sending the first ${megabytes(first)}` : `sending ${megabytes(first)}`);
    for (const [index, upload] of uploads.entries()) {
      await upload.create({ headerOnly });
      await upload.sendUntil(ends[index]);
    }
    const id = await submit(uploads, headerOnly);
    await follow(id, uploads, row);
    row.done(`${form.dataset.page}${id}/`);
    return id;
  } catch (error) {
    row.fail(error.message);
    return null;
  }
}

// `files` holds, or promises, files with the folder each lies in.
async function sendAll(files) {
  list.replaceChildren();
  input.disabled = true;
  const headerOnly = form.elements.depth.value === "header";
  const ids = [];
  try {
    const found = models(await files);
    if (!found.length) line("Nothing was sent").fail("there is no model file in this folder");
    for (const model of found) ids.push(await send(model, headerOnly));
  } catch (error) {
    line("Nothing was sent").fail(error.message);
  }
  input.disabled = false;
  input.value = "";
  if (ids.length === 1 && ids[0]) location.assign(`${form.dataset.page}${ids[0]}/`);
}

input.addEventListener("change", () => {
  // Files are chosen from one folder at a time.
  if (input.files.length) sendAll([...input.files].map((file) => ({ file, folder: "" })));
});

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
  if (!input.disabled && event.dataTransfer.files.length) sendAll(dropped(event.dataTransfer));
});
form.hidden = false;
