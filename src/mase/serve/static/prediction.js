// The prediction of the newest text.

import { signed } from "./numbers.js";
import { element, part, row } from "./parts.js";
import * as server from "./server.js";

const SHOWN = 4; // classes with a bar

export class Prediction {
  #asked = null; // what the newest question is about
  #asking = null; // what ends the question under way

  /**
   * @param {HTMLElement} root the panel
   * @param {{predicted: () => void, failed: (problem: Error) => void}} on
   */
  constructor(root, on) {
    [this.table, this.on] = [part(root, "prediction"), on];
    this.probabilities = new Map();
    this.values = new Map();
  }

  /** Whether there is a prediction. */
  get known() {
    return this.probabilities.size + this.values.size > 0;
  }

  /** Ask for a prediction. While one is under way no other begins, and then that of the newest text is next. */
  async ask(model, text) {
    const asked = JSON.stringify([model, text]);
    if (asked === this.#asked) return;
    this.#asked = asked;
    if (this.#asking) return;
    const asking = (this.#asking = new AbortController());
    try {
      const { labels, probabilities = [], values = [] } = await server.predict(model, text, asking.signal);
      if (asking.signal.aborted) return;
      this.probabilities = new Map(probabilities.map((share, place) => [labels[place], share]));
      this.values = new Map(values.map((value, place) => [labels[place], value]));
      this.on.predicted();
    } catch (error) {
      if (asking.signal.aborted) return;
      if (asked === this.#asked) {
        this.forget();
        this.on.failed(error);
      }
    }
    this.#asking = null;
    if (this.#asked && asked !== this.#asked) {
      const next = JSON.parse(this.#asked);
      this.#asked = null;
      this.ask(...next);
    }
  }

  /** Show the most probable classes; the explained one, and otherwise the predicted one, is marked. */
  show(target) {
    if (this.values.size) {
      const rows = [...this.values].filter(([name], place) => place < SHOWN || name === target);
      this.table.replaceChildren(...rows.map(([name, value]) => valued(name, value)));
      return;
    }
    const ranked = [...this.probabilities].sort((one, two) => two[1] - one[1]);
    const rows = ranked.filter(([label], place) => place < SHOWN || label === target);
    this.table.replaceChildren(...rows.map(([label, share]) => row(label, share, label === (target || ranked[0][0]))));
  }

  forget() {
    this.#asking?.abort();
    this.#asked = this.#asking = null;
    this.probabilities = new Map();
    this.values = new Map();
    this.table.replaceChildren();
  }
}

function valued(name, value) {
  const heading = element("th", { scope: "row", title: name }, element("bdi", {}, name));
  return element("tr", {}, heading, element("td"), element("td", {}, signed(value)));
}
