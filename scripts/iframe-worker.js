// The search of the site. mkdocs.yml loads this file before the page's own script.

// A word like --until-decided, or until- while it is typed, would be a mistake in the search's
// language, and -o would leave pages out. 2 is the message with a query.
const plain = ({ type, data }) =>
  ({ type, data: type === 2 ? data.replace(/(^|\s)[-']+(?=\S)/g, "$1").replace(/[-']+(?=\s|$)/g, "") : data });

// lunr names a state of its automaton by its edges, each a letter and a number, one behind the other:
// "1" to 23 is "12" to 3, and a search for the beginning of a word then failed where the site's
// numbers made two states one. A blank between them tells them apart.
function nameStates(lunr) {
  lunr.TokenSet.prototype.toString = function () {
    const edge = (label) => `${label}${this.edges[label].id} `;
    return this._str ?? (this.final ? "1" : "0") + Object.keys(this.edges).sort().map(edge).join("");
  };
}

// Where the site is opened from a directory a browser starts no worker. This one runs the worker's
// script in a hidden frame of the page.
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
      this.ready.then(() => nameStates(inside.lunr));
      inside.document.body.append(script);
    }

    postMessage(data) {
      const message = { data: structuredClone(plain(data)) };
      this.ready.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", message)),
      );
    }

    terminate() {
      this.frame.remove();
    }
  };
} else {
  window.Worker = class extends Worker {
    constructor(url) {
      const absolute = JSON.stringify(new URL(url, location).href);
      const text = `importScripts(${absolute}); (${nameStates})(self.lunr);`;
      super(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    }

    postMessage(data, ...more) {
      super.postMessage(plain(data), ...more);
    }
  };
}
