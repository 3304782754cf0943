// SHA-256 (FIPS 180-4) of a file, piece by piece: crypto.subtle wants the whole file at once.
// Runs as a worker: takes { file }, answers { done } now and then, at last { digest } or { error }.
const PIECE = 8 * 1024 * 1024; // bytes read at a time
const BLOCK = 64;

// Constants are made, not copied: the fractional parts of the square roots (state) and of the cube
// roots (rounds) of the first primes. A double has 53 bits, enough for the 32 after the point.
function primes(count) {
  const found = [];
  for (let n = 2; found.length < count; n++) if (found.every((p) => n % p)) found.push(n);
  return found;
}

const fraction = (root) => (root - Math.floor(root)) * 2 ** 32;
const ROUNDS = Int32Array.from(primes(64), (prime) => fraction(Math.cbrt(prime)));
const START = Int32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)));

class Sha256 {
  #state = START.slice();
  #words = new Int32Array(64);
  #rest = new Uint8Array(BLOCK);
  #kept = 0; // bytes in #rest
  #length = 0; // bytes so far

  update(bytes) {
    this.#length += bytes.length;
    let at = 0;
    if (this.#kept) {
      at = Math.min(BLOCK - this.#kept, bytes.length);
      this.#rest.set(bytes.subarray(0, at), this.#kept);
      this.#kept += at;
      if (this.#kept < BLOCK) return;
      this.#blocks(this.#rest, 0, BLOCK);
    }
    const end = at + Math.floor((bytes.length - at) / BLOCK) * BLOCK;
    this.#blocks(bytes, at, end);
    this.#rest.set(bytes.subarray(end));
    this.#kept = bytes.length - end;
  }

  digest() {
    const bits = this.#length * 8; // exact up to 2^53: files of a petabyte
    const padding = new Uint8Array(((this.#kept < 56 ? 56 : 120) - this.#kept) + 8);
    padding[0] = 0x80;
    const tail = new DataView(padding.buffer, padding.length - 8);
    tail.setUint32(0, Math.floor(bits / 2 ** 32));
    tail.setUint32(4, bits % 2 ** 32);
    this.update(padding);
    return [...this.#state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  #blocks(bytes, from, end) {
    const words = this.#words;
    const state = this.#state;
    for (let at = from; at < end; at += BLOCK) {
      for (let i = 0, j = at; i < 16; i++, j += 4) {
        words[i] = (bytes[j] << 24) | (bytes[j + 1] << 16) | (bytes[j + 2] << 8) | bytes[j + 3];
      }
      for (let i = 16; i < 64; i++) {
        const x = words[i - 15];
        const y = words[i - 2];
        const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
        const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
        words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
      }
      let a = state[0];
      let b = state[1];
      let c = state[2];
      let d = state[3];
      let e = state[4];
      let f = state[5];
      let g = state[6];
      let h = state[7];
      for (let i = 0; i < 64; i++) {
        const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
        const one = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]) | 0;
        const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
        const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        h = g;
        g = f;
        f = e;
        e = (d + one) | 0;
        d = c;
        c = b;
        b = a;
        a = (one + two) | 0;
      }
      state[0] += a;
      state[1] += b;
      state[2] += c;
      state[3] += d;
      state[4] += e;
      state[5] += f;
      state[6] += g;
      state[7] += h;
    }
  }
}

onmessage = async ({ data: { file } }) => {
  try {
    const hash = new Sha256();
    for (let at = 0; at < file.size; at += PIECE) {
      hash.update(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()));
      postMessage({ done: Math.min(at + PIECE, file.size) });
    }
    postMessage({ digest: hash.digest() });
  } catch (error) {
    postMessage({ error: error.message }); // the file was changed or taken away meanwhile
  }
};
