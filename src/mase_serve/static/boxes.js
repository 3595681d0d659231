// The boxes in which a document is typed: one for a plain text, otherwise one per field. A language model has boxes for
// the texts that its answer is to be found in, and others beside them.

import { element, part } from "./parts.js";
import { oneMore, sourcesOf, without } from "./prompt.js";
import { fieldsOf, fixedOf } from "./state.js";

export class Boxes {
  #built = null; // which boxes there are

  /**
   * @param {HTMLElement} root the panel
   * @param {(patch: object, options?: object) => void} change is called with what the reader typed or chose
   * @param {() => void} submit is called when the reader wants an answer
   */
  constructor(root, change, submit) {
    [this.form, this.root, this.change, this.side] = [part(root, "ask"), part(root, "boxes"), change, root.dataset.side];
    this.form.addEventListener("input", ({ target }) => {
      if (target.type !== "checkbox") change({ [target.name]: target.value }, { typed: true });
    });
    this.form.addEventListener("change", ({ target }) => target.type === "checkbox" && this.#lock());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      submit();
    });
    this.form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
    });
  }

  /** Show the texts of these settings, in boxes for a language model if it answers. */
  show(settings, answers) {
    const names = answers ? sourcesOf(settings) : fieldsOf(settings), fixed = fixedOf(settings);
    const boxes = JSON.stringify([names, answers]);
    this.settings = settings;
    if (boxes !== this.#built) this.root.replaceChildren(...(answers ? this.#sources(names) : this.#fields(names)));
    this.#built = boxes;
    for (const box of this.form.querySelectorAll("textarea, input:not([type=checkbox])")) {
      const value = settings[box.name] ?? "";
      if (box.value !== value) box.value = value;
    }
    for (const box of this.root.querySelectorAll(".box")) {
      box.classList.toggle("small", Boolean(settings["background." + box.getAttribute("aria-label")]));
    }
    for (const lock of this.root.querySelectorAll("[type=checkbox]")) lock.checked = fixed.includes(lock.value);
  }

  focus() {
    this.root.querySelector("textarea").focus();
  }

  #fields(names) {
    return names.length ? names.map((name, place) => this.#box(name, place)) : [this.#plain("Text", "Type or paste a text")];
  }

  #sources(names) {
    const more = element("button", { type: "button" }, "Add a source");
    more.addEventListener("click", () => {
      this.change(oneMore(this.settings), { typed: true });
      [...this.root.querySelectorAll("textarea")].at(-1).focus();
    });
    const context = () => this.#plain("Context", "Type or paste the text that the answer is to be found in");
    return [...(names.length ? names.map((name, place) => this.#source(name, place, names)) : [context()]), element("p", {}, more)];
  }

  #plain(label, placeholder) {
    return this.#field(`${this.side}-text`, label, "text", placeholder);
  }

  #source(name, place, names) {
    const box = this.#field(this.#id(place), name, "text." + name, "");
    if (names.length < 2) return box;
    const less = element("button", { type: "button", class: "less", "aria-label": `Remove ${name}` }, "×");
    less.addEventListener("click", () => {
      this.change(without(this.settings, name), { typed: true });
      this.focus();
    });
    return element("div", { class: "source" }, box, less);
  }

  #box(name, place) {
    const id = this.#id(place), instead = "background." + name;
    const lock = element("input", { type: "checkbox", name: "fixed", value: name, id: id + "-fixed" });
    const value = element("input", {
      name: instead, id: id + "-background", autocomplete: "off", placeholder: "for a number or category", dir: "auto",
    });
    const options = element("p", { class: "held" }, element("label", {}, lock, " never masked"),
      element("label", { for: value.id }, "masked as"), value);
    return element("div", { class: "box", role: "group", "aria-label": name }, this.#field(id, name, "text." + name, ""), options);
  }

  #id(place) {
    return this.side + (place ? `-field-${place}` : "-text"); // the first is skipped to
  }

  #field(id, label, name, placeholder) {
    const attributes = { rows: "2", dir: "auto", spellcheck: "false", autocomplete: "off" };
    const text = element("textarea", { id, name, placeholder, ...attributes });
    return element("p", { class: "field" }, element("label", { for: id }, element("bdi", {}, label)), text);
  }

  #lock() {
    const fixed = [...this.root.querySelectorAll("[type=checkbox]:checked")].map((lock) => lock.value);
    this.change({ fixed: fixed.join(",") });
  }
}
