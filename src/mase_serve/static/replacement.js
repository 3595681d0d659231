// The small field at a word in which another one is typed.

import { part } from "./parts.js";

export class Replacement {
  /** @param {HTMLElement} root the panel; `replaced` is called with the edited text by the name of its setting */
  constructor(root, words, replaced) {
    [this.root, this.form, this.words] = [root, part(root, "replacement"), words];
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const edited = this.edited(part(root, "by").value);
      this.close();
      replaced(edited);
    });
    part(root, "cancel").addEventListener("click", () => this.close());
    this.form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
  }

  /** Open the field at a unit of an attribution; the text of a document without fields is the only one. */
  open(unit, attribution, hasFields) {
    const { field, start, end, text } = attribution.units[unit];
    const name = hasFields ? "text." + field : "text";
    const letters = Array.from(attribution.document.find((one) => one.name === field).text); // places count characters
    this.unit = unit;
    this.edited = (word) => ({ [name]: [...letters.slice(0, start), word, ...letters.slice(end)].join("") });
    part(this.root, "replaced").textContent = `Instead of “${this.words.name(unit)}”`;
    this.form.hidden = false;
    const by = part(this.root, "by");
    by.value = text.replace(/\s*[\r\n]\s*/g, " "); // a field of one line would leave out line ends, and join words
    this.#place();
    by.select();
    by.focus();
  }

  close() {
    if (this.form.hidden) return;
    this.form.hidden = true;
    this.words.focus(this.unit);
  }

  /** Put the form below its word, inside the panel. */
  #place() {
    const word = this.words.element(this.unit).getBoundingClientRect(), panel = this.root.getBoundingClientRect();
    const left = Math.min(word.left - panel.left, panel.width - this.form.offsetWidth);
    this.form.style.insetInlineStart = "auto";
    this.form.style.left = `${Math.max(0, left)}px`;
    this.form.style.top = `${word.bottom - panel.top + 6}px`;
  }
}
