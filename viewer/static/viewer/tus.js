// Resumable uploads (tus 1.0): create, append, pause, and go on from where the server says.
import { fingerprint, forget, recall, remember } from "./remembered.js";

const VERSION = { "Tus-Resumable": "1.0.0" };
const RETRIES = 5;

function base64(text) {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

// What the server said was wrong, as one sentence.
export async function reason(response) {
  try {
    const problem = await response.json();
    return problem.detail || problem.title || `The server answered ${response.status}.`;
  } catch {
    return `The server answered ${response.status}.`;
  }
}

// `control` stops and pauses every upload of one model: see control.js.
export class Upload {
  constructor(file, { endpoint, csrf, onSent, headerOnly, control }) {
    this.file = file;
    this.endpoint = endpoint;
    this.headers = { ...VERSION, "X-CSRFToken": csrf };
    this.onSent = onSent;
    this.headerOnly = headerOnly;
    this.control = control;
    this.offset = 0;
    this.print = fingerprint(file, headerOnly);
  }

  // Go on with an upload of the same file, or announce it with its whole size, even where only
  // its start will be sent.
  async create() {
    if (!(await this.#takeUp())) await this.#announce();
    this.id = this.url.replace(/\/$/, "").split("/").pop();
    remember(this.print, { url: this.url, name: this.file.name, size: this.file.size });
  }

  async #takeUp() {
    const before = recall(this.print);
    if (!before) return false;
    this.url = before.url;
    const size = await this.#askOffset();
    if (size !== this.file.size) {
      forget(this.print); // deleted meanwhile, or no upload of this file
      this.offset = 0;
      return false;
    }
    this.onSent(this.offset);
    return true;
  }

  async #announce() {
    const metadata = [`filename ${base64(this.file.name)}`];
    if (this.headerOnly) metadata.push(`header_only ${base64("true")}`);
    const response = await fetch(this.endpoint, {
      method: "POST",
      headers: {
        ...this.headers,
        "Upload-Length": String(this.file.size),
        "Upload-Metadata": metadata.join(","),
      },
    });
    if (response.status !== 201) throw new Error(await reason(response));
    this.url = response.headers.get("Location");
  }

  // Send everything before byte `end`. After a pause or a broken connection the server says what
  // arrived.
  async sendUntil(end) {
    let failures = 0;
    while (this.offset < end) {
      try {
        await this.control.ready();
        await this.#patch(this.offset, end);
        failures = 0;
      } catch (error) {
        if (this.control.cancelled) throw new Error("Cancelled.");
        if (!this.control.paused && (!error.again || ++failures > RETRIES)) throw error;
        await this.control.ready();
        await new Promise((done) => setTimeout(done, 300 * 2 ** failures));
        await this.#askOffset();
      }
    }
  }

  // XMLHttpRequest, because fetch tells nothing of how much has been sent.
  #patch(from, end) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("PATCH", this.url);
      const headers = {
        ...this.headers,
        "Content-Type": "application/offset+octet-stream",
        "Upload-Offset": String(from),
      };
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = (event) => this.onSent(from + event.loaded);
      request.onload = () => {
        if (request.status === 204) {
          this.offset = Number(request.getResponseHeader("Upload-Offset"));
          this.onSent(this.offset);
          resolve();
        } else {
          reject(failure(request.status, request.responseText));
        }
      };
      request.onerror = request.onabort = () => reject(failure(0, ""));
      this.control.interrupts(() => request.abort());
      request.send(this.file.slice(from, end));
    });
  }

  // How much arrived goes into `offset`; returns the size of the file there, or null.
  async #askOffset() {
    const request = fetch(this.url, { method: "HEAD", headers: this.headers });
    const response = await request.catch(() => null);
    if (!response?.ok) return null;
    this.offset = Number(response.headers.get("Upload-Offset"));
    return Number(response.headers.get("Upload-Length"));
  }

  // Its inspection has ended: the file may be sent again from its start.
  finish() {
    forget(this.print);
  }

  async discard() {
    forget(this.print);
    if (this.url) await fetch(this.url, { method: "DELETE", headers: this.headers }).catch(() => {});
  }
}

// Nothing, 409 (wrong offset), 423 (busy) and server trouble are worth another try.
function failure(status, body) {
  let text = status ? `The server answered ${status}.` : "The connection broke.";
  try {
    text = JSON.parse(body).detail || text;
  } catch {
    // not a problem document: the status says all there is
  }
  return Object.assign(new Error(text), { again: [0, 409, 423].includes(status) || status >= 500 });
}
