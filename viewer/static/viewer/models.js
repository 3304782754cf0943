// From what was dropped or chosen to models: folders are walked, shards of one model go together.
const SHARD = /^(.+)-([0-9]{5})-of-([0-9]{5})\.gguf$/s;
const MODEL = /\.gguf$|^ggml-.*\.bin$/is;
const MOST_SHARDS = 512; // the server takes no more at once

// A shard's name without its number; null for any other file.
function wholeName(name) {
  const [, prefix, number, count] = SHARD.exec(name) || [];
  // Five digits each: as texts they compare as their numbers do.
  if (!prefix || count < 2 || count > MOST_SHARDS || number < 1 || number > count) return null;
  return `${prefix}-of-${count}`;
}

// Lists of files, one list a model. `found` holds files with the folder each lies in.
export function models(found) {
  const sets = new Map();
  for (const { file, folder } of found) {
    const whole = wholeName(file.name);
    const key = whole === null ? file : `${folder}/${whole}`;
    sets.set(key, [...(sets.get(key) || []), file]);
  }
  const byName = (one, other) => (one.name < other.name ? -1 : 1);
  return [...sets.values()].map((files) => files.sort(byName));
}

// The files of a drop; of folders, at any depth, those that are models by their names.
export async function dropped(transfer) {
  // All entries are taken before the first await: after it the list is empty.
  const items = [...transfer.items]
    .filter((item) => item.kind === "file")
    .map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const found = [];
  for (const { entry, file } of items) {
    if (entry?.isDirectory) found.push(...(await walk(entry)));
    else found.push({ file, folder: "" });
  }
  return found;
}

async function walk(directory) {
  const reader = directory.createReader();
  const found = [];
  for (;;) {
    const entries = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!entries.length) return found; // a reader gives a hundred or so at a time
    for (const entry of entries) {
      if (entry.isDirectory) found.push(...(await walk(entry)));
      else if (MODEL.test(entry.name)) {
        const file = await new Promise((done, failed) => entry.file(done, failed));
        found.push({ file, folder: directory.fullPath });
      }
    }
  }
}
