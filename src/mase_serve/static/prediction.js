// The prediction of the newest text.

import { amount, percent } from "./numbers.js";
import { element, part, row } from "./parts.js";
import * as server from "./server.js";

const SHOWN = 4; // classes with a bar

export class Prediction {
  #asked = null; // what the newest question is about
  #asking = null; // what ends the question under way
  #answered = null; // what the numbers are of

  /**
   * @param {HTMLElement} root the panel
   * @param {{predicted: () => void, failed: (problem: Error) => void}} on
   */
  constructor(root, on) {
    [this.table, this.on] = [part(root, "prediction"), on];
    this.forget();
  }

  /** Return the probability of a class in percent, or a value; "" before it is known. */
  said(label) {
    if (!this.numbers.has(label)) return "";
    return this.areValues ? amount(this.numbers.get(label)) : percent(this.numbers.get(label));
  }

  /** Return labels in the order in which they are shown: the most probable class first, values as they are. */
  ranked(labels) {
    if (this.areValues) return [...labels];
    const probability = (label) => this.numbers.get(label) ?? 0;
    return [...labels].sort((one, two) => probability(two) - probability(one));
  }

  /** Ask for a prediction. While one is under way no other begins, and then that of the newest text is next. */
  async ask(model, text) {
    const asked = JSON.stringify([model, text]);
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#age();
    if (this.#asking) return;
    const asking = (this.#asking = new AbortController());
    try {
      const { labels, probabilities, values } = await server.predict(model, text, asking.signal);
      if (asking.signal.aborted) return;
      this.#answered = asked;
      this.#age();
      this.areValues = !probabilities;
      this.numbers = new Map(labels.map((label, place) => [label, (probabilities ?? values)[place]]));
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
    const ranked = this.ranked(this.numbers.keys());
    const shown = ranked.filter((label, place) => place < SHOWN || label === target);
    const bar = (label) => (this.areValues ? 0 : this.numbers.get(label));
    const rows = shown.map((label) => row(label, bar(label), label === (target || ranked[0]), this.said(label)));
    const left = ranked.length - shown.length, more = `and ${left.toLocaleString("en")} more`;
    if (left) rows.push(element("tr", {}, element("td", { class: "soft", colspan: 3 }, more)));
    this.table.replaceChildren(...rows);
  }

  /** Show whether the numbers are those of a former text. */
  #age() {
    this.table.classList.toggle("stale", this.#asked !== this.#answered);
  }

  forget() {
    this.#asking?.abort();
    this.#asked = this.#asking = this.#answered = null;
    this.#age();
    this.numbers = new Map(); // by label: probabilities, or values of a model without classes
    this.areValues = false;
    this.table.replaceChildren();
  }
}
