// Workers that measure scenarios, some at a time: what the scorecard and an attack ask of a run.

export class Pool {
  // `make` makes a worker; one that says nothing for `silentMs` has a C file that does not return.
  constructor(make, most, guests, silentMs) {
    Object.assign(this, { make, most, guests, silentMs, waiting: [], idle: [], going: new Set() });
  }

  // What a scenario in TOML comes to: the message "measured" of engine.js; an error is thrown.
  measure(toml) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ toml, resolve, reject });
      this.next();
    });
  }

  next() {
    while (this.waiting.length && this.going.size < this.most) {
      const job = this.waiting.shift();
      const worker = this.idle.pop() ?? this.make();
      this.going.add(worker);
      const names = this.guests.map(({ path }) => path).join(", ");
      const fail = (text) => this.end(worker, () => job.reject(new Error(text)));
      const wait = () => {
        clearTimeout(worker.timer);
        worker.timer = setTimeout(() => fail(`${names}: a hook has not returned for ${this.silentMs / 1000} s: an endless loop?`), this.silentMs);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        fail(`the run broke down: ${event.message || "the engine cannot be loaded"}`);
      };
      worker.onmessage = ({ data }) => {
        if (data.kind === "error") return fail(data.text);
        if (data.kind !== "measured") return wait();
        this.idle.push(worker);
        this.end(worker, () => job.resolve(data));
      };
      wait();
      worker.postMessage({ toml: job.toml, files: {}, guests: this.guests, only: "measure" });
    }
  }

  end(worker, told) {
    clearTimeout(worker.timer);
    worker.onmessage = worker.onerror = null;
    if (!this.idle.includes(worker)) worker.terminate();
    this.going.delete(worker);
    told();
    this.next();
  }

  // Ends all; what waits is never told.
  terminate() {
    this.waiting = [];
    for (const worker of [...this.going, ...this.idle]) {
      clearTimeout(worker.timer);
      worker.terminate();
    }
  }
}
