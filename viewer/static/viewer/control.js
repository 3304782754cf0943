// Pausing and cancelling what is being sent.
export class Control {
  paused = false;
  #stop = new AbortController();
  #wake = null;
  #interrupt = () => {};

  get cancelled() {
    return this.#stop.signal.aborted;
  }

  get signal() {
    return this.#stop.signal;
  }

  // What to call to break off the request that is on its way.
  interrupts(abort) {
    this.#interrupt = abort;
  }

  pause() {
    this.paused = true;
    this.#interrupt();
  }

  resume() {
    this.paused = false;
    this.#wake?.();
  }

  cancel() {
    this.#stop.abort();
    this.#interrupt();
    this.#wake?.();
  }

  // Resolves when nothing is paused; throws once it is cancelled.
  async ready() {
    while (this.paused && !this.cancelled) await new Promise((wake) => (this.#wake = wake));
    if (this.cancelled) throw new Error("Cancelled.");
  }
}
