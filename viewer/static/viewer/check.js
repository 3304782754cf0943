// On a report: the SHA-256 of a copy on this computer, next to the digests the report knows.
import { keptDigests, sha256 } from "./hash.js";
import { megabytes } from "./numbers.js";

const form = document.querySelector("[data-check]");

function known() {
  const rows = document.querySelectorAll("[data-sha256]");
  return [...rows].map((row) => row.dataset.sha256);
}

function verdict(digest) {
  const digests = known();
  if (!digests.length) return ["", "The report knows no SHA-256 to compare with."];
  if (digests.includes(digest)) return ["yes", "The same as in the report."];
  return ["bad", "Not what the report says: this is another file, or it is damaged."];
}

function show(name, digest) {
  const [mark, words] = verdict(digest);
  form.querySelector("[data-name]").textContent = name;
  form.querySelector("[data-digest]").textContent = digest;
  const said = form.querySelector("[data-said]");
  said.className = mark;
  said.textContent = words;
  form.querySelector("[data-result]").hidden = false;
}

async function check(file) {
  const note = form.querySelector("[data-note]");
  const bar = form.querySelector("progress");
  bar.hidden = false;
  bar.max = file.size || 1;
  const onDone = (done) => {
    bar.value = done;
    note.textContent = `${megabytes(done)} of ${megabytes(file.size)}`;
  };
  try {
    show(file.name, await sha256(file, { worker: form.dataset.worker, onDone }));
    note.textContent = "";
  } catch (error) {
    note.textContent = error.message;
  }
  bar.hidden = true;
}

form.hidden = false;
form.elements.file.addEventListener("change", ({ target }) => {
  if (target.files.length) check(target.files[0]);
});
for (const [name, digest] of Object.entries(keptDigests(form.dataset.check))) show(name, digest);
