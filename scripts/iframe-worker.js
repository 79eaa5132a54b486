// The search of the site where it is opened from a directory: there a browser starts no worker.
// This one runs the worker's script in a hidden frame of the page. mkdocs.yml loads it first.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      // Written, since some browsers load an empty frame's document a second time.
      inside.document.open();
      inside.document.write("<!doctype html><body></body>");
      inside.document.close();
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = url;
      this.ready = new Promise((resolve) => script.addEventListener("load", resolve));
      inside.document.body.append(script);
    }

    postMessage(data) {
      const message = { data: structuredClone(data) };
      this.ready.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", message)),
      );
    }

    terminate() {
      this.frame.remove();
    }
  };
}
