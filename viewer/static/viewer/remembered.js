// Uploads that are not finished, by what tells the file: after a reload they go on.
const PREFIX = "ggufhub-upload:";

// Name, size and time of change: another file would have to agree in all three.
export function fingerprint(file, headerOnly) {
  return `${PREFIX}${headerOnly ? "header" : "whole"}:${file.size}:${file.lastModified}:${file.name}`;
}

export function remember(print, upload) {
  try {
    localStorage.setItem(print, JSON.stringify(upload));
  } catch {
    // storage may be full or switched off: the upload then begins anew after a reload
  }
}

export function recall(print) {
  try {
    return JSON.parse(localStorage.getItem(print));
  } catch {
    return null;
  }
}

export function forget(print) {
  try {
    localStorage.removeItem(print);
  } catch {
    // nothing was remembered either
  }
}

// Whole files that were being sent when the page was left.
export function unfinished() {
  try {
    return Object.keys(localStorage)
      .filter((print) => print.startsWith(`${PREFIX}whole:`))
      .map((print) => ({ print, ...recall(print) }));
  } catch {
    return [];
  }
}
