// Resumable uploads (tus 1.0): create, append, and go on from where the server says.
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

export class Upload {
  constructor(file, { endpoint, csrf, onSent }) {
    this.file = file;
    this.endpoint = endpoint;
    this.headers = { ...VERSION, "X-CSRFToken": csrf };
    this.onSent = onSent;
    this.offset = 0;
  }

  // Announce the file with its whole size, even where only its start will be sent.
  async create({ headerOnly }) {
    const metadata = [`filename ${base64(this.file.name)}`];
    if (headerOnly) metadata.push(`header_only ${base64("true")}`);
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
    this.id = this.url.replace(/\/$/, "").split("/").pop();
  }

  // Send everything before byte `end`. After a broken connection the server says what arrived.
  async sendUntil(end) {
    let failures = 0;
    while (this.offset < end) {
      try {
        await this.#patch(this.offset, end);
        failures = 0;
      } catch (error) {
        if (!error.again || ++failures > RETRIES) throw error;
        await new Promise((done) => setTimeout(done, 300 * 2 ** failures));
        await this.#resume();
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
      request.onerror = () => reject(failure(0, ""));
      request.send(this.file.slice(from, end));
    });
  }

  async #resume() {
    const response = await fetch(this.url, { method: "HEAD", headers: this.headers }).catch(() => null);
    if (response?.ok) this.offset = Number(response.headers.get("Upload-Offset"));
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
