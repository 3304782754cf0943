// Files of this computer: send the header (or all) and go to the report.
import { Control } from "./control.js";
import { keepDigests, sha256 } from "./hash.js";
import { dropped, models } from "./models.js";
import { megabytes } from "./numbers.js";
import { unfinished } from "./remembered.js";
import { left, line } from "./sending.js";
import { Upload, reason } from "./tus.js";

const FIRST_BYTES = 1024 * 1024; // most small models have their whole header in it
const POLL_MS = 400;
const form = document.querySelector("[data-drop]");
const input = form.elements.files;
const zone = form.querySelector(".zone");
const list = form.querySelector(".sending");
const csrf = document.querySelector("[name=csrfmiddlewaretoken]").value;

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

function api(address, options = {}) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": csrf };
  return fetch(address, { headers, ...options });
}

// The digests of the files by name, computed here; an empty object where nobody asked for them.
async function digestsOf(files, row, control) {
  const found = {};
  if (!form.elements.hash.checked) return found;
  const whole = sum(files.map((file) => file.size));
  let before = 0;
  for (const file of files) {
    row.say("computing the SHA-256 on this computer");
    const onDone = (done) => row.part(before + done, whole);
    const options = { worker: form.dataset.worker, onDone, signal: control.signal };
    found[file.name] = await sha256(file, options);
    row.digest(found[file.name]);
    before += file.size;
  }
  return found;
}

async function submit(uploads, headerOnly, digests) {
  const body = { uploads: uploads.map((upload) => upload.id), depth: headerOnly ? "header" : "full" };
  const [only] = uploads.length === 1 ? Object.values(digests) : [];
  // Where every byte is sent the server computes it too: it must be the same.
  if (only && !headerOnly) body.expected = { sha256: only };
  const options = { method: "POST", body: JSON.stringify(body) };
  const response = await api(form.dataset.inspections, options);
  if (!response.ok) throw new Error(await reason(response));
  return (await response.json()).id;
}

// Follow the inspection until it ends, sending whatever range of whichever file it asks for.
async function follow(id, uploads, row, control) {
  for (;;) {
    if (control.cancelled) {
      await api(`${form.dataset.inspections}/${id}`, { method: "DELETE" });
      throw new Error("Cancelled.");
    }
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

// The uploads of one model; what they have sent together is shown in its row.
function uploadsOf(files, headerOnly, row, control, first) {
  const sent = files.map(() => 0);
  return files.map((file, index) => {
    const onSent = (bytes) => {
      sent[index] = bytes;
      const done = sum(sent);
      row.part(done, Math.max(done, first));
      if (!control.paused) row.say(`${megabytes(done)} of ${megabytes(Math.max(done, first))} sent`);
    };
    return new Upload(file, { endpoint: form.dataset.uploads, csrf, onSent, headerOnly, control });
  });
}

async function send(files, headerOnly) {
  const title = files.length > 1 ? `${files[0].name} (${files.length} shards)` : files[0].name;
  const row = line(list, title);
  const control = new Control();
  row.controls(control);
  const ends = files.map((file) => (headerOnly ? Math.min(FIRST_BYTES, file.size) : file.size));
  const uploads = uploadsOf(files, headerOnly, row, control, sum(ends));
  try {
    const digests = await digestsOf(files, row, control);
    for (const [index, upload] of uploads.entries()) {
      await control.ready();
      await upload.create();
      await upload.sendUntil(ends[index]);
    }
    const id = await submit(uploads, headerOnly, digests);
    await follow(id, uploads, row, control);
    for (const upload of uploads) upload.finish();
    keepDigests(id, digests);
    row.done(`${form.dataset.page}${id}/`);
    return id;
  } catch (error) {
    row.fail(error.message);
    if (control.cancelled) for (const upload of uploads) await upload.discard();
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
    if (!found.length) line(list, "Nothing was sent").fail("there is no model file in this folder");
    for (const model of found) ids.push(await send(model, headerOnly));
  } catch (error) {
    line(list, "Nothing was sent").fail(error.message);
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
for (const one of unfinished()) {
  left(list, one);
  form.elements.depth.value = "all";
}
form.hidden = false;
