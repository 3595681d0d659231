// The boxes in which a document is typed: one for a plain text, otherwise one per field.

import { element, part } from "./parts.js";
import { fieldsOf, fixedOf } from "./state.js";

export class Boxes {
  #names = null; // the fields that have a box

  /**
   * @param {HTMLElement} root the panel
   * @param {(patch: object, options?: object) => void} change is called with what the reader typed or chose
   */
  constructor(root, change) {
    [this.root, this.change, this.side] = [part(root, "boxes"), change, root.dataset.side];
    this.root.addEventListener("input", ({ target }) => {
      if (target.type !== "checkbox") change({ [target.name]: target.value }, { typed: true });
    });
    this.root.addEventListener("change", ({ target }) => target.type === "checkbox" && this.#lock());
  }

  /** Show the texts of these settings. */
  show(settings) {
    const names = fieldsOf(settings), fixed = fixedOf(settings);
    if (names.join() !== this.#names?.join()) this.#build(names);
    for (const box of this.root.querySelectorAll("textarea, input:not([type=checkbox])")) {
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

  #build(names) {
    this.#names = names;
    this.root.replaceChildren(...(names.length ? names.map((name, place) => this.#box(name, place)) : [this.#plain()]));
  }

  #plain() {
    return this.#field(`${this.side}-text`, "Text", "text", "Type or paste a text");
  }

  #box(name, place) {
    const id = this.side + (place ? `-field-${place}` : "-text"), instead = "background." + name; // the first is skipped to
    const lock = element("input", { type: "checkbox", name: "fixed", value: name, id: id + "-fixed" });
    const value = element("input", {
      name: instead, id: id + "-background", autocomplete: "off", placeholder: "for a number or category", dir: "auto",
    });
    const options = element("p", { class: "held" }, element("label", {}, lock, " never masked"),
      element("label", { for: value.id }, "masked as"), value);
    return element("div", { class: "box", role: "group", "aria-label": name }, this.#field(id, name, "text." + name, ""), options);
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
