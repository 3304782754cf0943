// Strings of a file made visible, as viewer/text.py does it on the server.
const HIDDEN =
  /([\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0000}-\u{e0fff}]|(?! )\p{Zs})\1*/gu;

function code(run, character) {
  const times = run.length / character.length;
  const hex = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  return `\\u{${hex}}${times > 1 ? `×${times}` : ""}`;
}

// A <bdi> element that shows `text`; only text nodes are made, so markup in it stays text.
export function foreign(text) {
  const shown = document.createElement("bdi");
  let at = 0;
  for (const match of text.matchAll(HIDDEN)) {
    shown.append(text.slice(at, match.index));
    const span = document.createElement("span");
    span.className = "esc";
    span.textContent = code(match[0], match[1]);
    shown.append(span);
    at = match.index + match[0].length;
  }
  shown.append(text.slice(at));
  return shown;
}

export function visible(text) {
  return text.replace(HIDDEN, code);
}
