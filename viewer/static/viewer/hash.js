// Addresses of scripts are ours. Browsers that know Trusted Types let none pass but through this
// policy, which the Content-Security-Policy names; the others get the same check.
const ours = {
  createScriptURL(address) {
    const { href } = new URL(address, location);
    if (!href.startsWith(`${location.origin}/`)) throw new TypeError("A script from elsewhere.");
    return href;
  },
};
const policy = window.trustedTypes?.createPolicy("ggufhub", ours) ?? ours;

// The SHA-256 of a file of this computer, in hexadecimal. The file stays where it is.
export function sha256(file, { worker, onDone, signal }) {
  return new Promise((resolve, reject) => {
    const helper = new Worker(policy.createScriptURL(worker));
    const end = (settle, value) => {
      helper.terminate();
      settle(value);
    };
    helper.onmessage = ({ data }) => {
      if (data.digest) end(resolve, data.digest);
      else if (data.error) end(reject, new Error(data.error));
      else onDone(data.done);
    };
    helper.onerror = () => end(reject, new Error("The file could not be read."));
    signal?.addEventListener("abort", () => end(reject, new Error("Cancelled.")));
    helper.postMessage({ file });
  });
}

// Digests of files that were sent are remembered for the page of their report, in this tab only.
const key = (id) => `ggufhub-digests:${id}`;

export function keepDigests(id, digests) {
  try {
    sessionStorage.setItem(key(id), JSON.stringify(digests));
  } catch {
    // the page of the report then shows none
  }
}

export function keptDigests(id) {
  try {
    return JSON.parse(sessionStorage.getItem(key(id))) || {};
  } catch {
    return {};
  }
}
