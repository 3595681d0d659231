// The prediction of the newest text.

import { part, row } from "./parts.js";
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
  }

  /** Ask for a prediction. While one is under way no other begins, and then that of the newest text is next. */
  async ask(model, text) {
    const asked = JSON.stringify([model, text]);
    if (asked === this.#asked) return;
    this.#asked = asked;
    if (this.#asking) return;
    const asking = (this.#asking = new AbortController());
    try {
      const { labels, probabilities } = await server.predict(model, text, asking.signal);
      if (asking.signal.aborted) return;
      this.probabilities = new Map(labels.map((label, place) => [label, probabilities[place]]));
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
    const ranked = [...this.probabilities].sort((one, two) => two[1] - one[1]);
    const rows = ranked.filter(([label], place) => place < SHOWN || label === target);
    this.table.replaceChildren(...rows.map(([label, share]) => row(label, share, label === (target || ranked[0][0]))));
  }

  forget() {
    this.#asking?.abort();
    this.#asked = this.#asking = null;
    this.probabilities = new Map();
    this.table.replaceChildren();
  }
}
