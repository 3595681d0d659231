// What the model answers without the units that are out, beside the first answer.

import { element, part } from "./parts.js";

export class Regenerated {
  #asking = null;

  /**
   * @param {HTMLElement} root the panel
   * @param {(units: number[], signal: AbortSignal) => Promise<string>} ask answers with the other answer
   */
  constructor(root, ask) {
    [this.root, this.ask, this.units, this.beside] = [root, ask, [], null];
    this.button = part(root, "regenerate");
    this.button.addEventListener("click", () => this.#regenerate());
  }

  /** Offer an answer without these units. Another one is forgotten. */
  offer(units, answer) {
    this.#asking?.abort();
    [this.units, this.first] = [units, answer];
    this.beside?.remove();
    this.beside = null;
    this.#say("");
    part(this.root, "again").hidden = !answer || !units.length;
    this.button.textContent = `Answer anew without ${units.length > 1 ? "them" : "it"}`;
  }

  /** Put the other answer beside the first one of an article. */
  place() {
    const said = this.root.querySelector(".said");
    if (this.beside && said) said.after(this.beside);
  }

  async #regenerate() {
    const { signal } = (this.#asking = new AbortController());
    this.#say("Answering …");
    try {
      const text = await this.ask(this.units, signal);
      if (!signal.aborted) this.#show(text);
    } catch (error) {
      if (!signal.aborted) this.#say(error.message);
    }
  }

  #show(text) {
    const them = this.units.length > 1 ? "them" : "it";
    this.beside?.remove();
    this.beside = null;
    if (text === this.first.text) return this.#say(`The model gives the same answer without ${them}.`);
    const name = element("small", {}, `without ${them}, the model answers`);
    this.beside = element("p", { class: "text quiet anew", dir: "auto", lang: "" }, name, " ", text);
    this.place();
    this.#say(`The model gives another answer without ${them}, which stands below the first.`);
    this.beside.scrollIntoView({ block: "nearest" });
  }

  #say(message) {
    part(this.root, "regenerated").textContent = message;
  }
}
