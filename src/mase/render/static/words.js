// Words of an article that can be pointed at, walked with the keys, and taken out. The article is HTML of the server in
// which each unit is an element with `data-unit`. Nothing here knows the server, so that a notebook can use it, too.

const SELECTOR = ".text [data-unit]";

export class Words {
  /**
   * @param {HTMLElement} root the element that holds the article
   * @param {object} on what is called with a unit: `toggle`, `replace`, `choose` when a word gets the focus, and `point`
   *   when the pointer is on a word; with null when it has left the text
   */
  constructor(root, on) {
    this.root = root;
    root.addEventListener("click", (event) => this.#at(event.target, (unit) => on.toggle(unit)));
    root.addEventListener("pointerover", ({ target }) => {
      if (!target.closest(".text")) on.point(null);
      else this.#at(target, (unit) => on.point(unit));
    });
    root.addEventListener("pointerleave", () => on.point(null));
    root.addEventListener("focusin", (event) => this.#at(event.target, (unit) => {
      this.#tabStop(event.target);
      on.choose(unit);
    }));
    root.addEventListener("keydown", (event) => this.#at(event.target, (unit) => this.#key(event, unit, on)));
  }

  get all() {
    return [...this.root.querySelectorAll(SELECTOR)];
  }

  /** The text whose words these are; of an answer, all its sources. */
  get text() {
    return this.root.querySelector(".sources, article:not(.cites) .text");
  }

  /** Name the group of the words. One of them is in the order of Tab; the arrow keys go on from there. */
  adopt() {
    this.text?.setAttribute("role", "group");
    this.text?.setAttribute("aria-label", "Words of the text; press one to take it out");
    const shown = this.all.find((word) => word.checkVisibility());
    if (shown) this.#tabStop(shown);
  }

  /** Show which units are out. */
  press(units) {
    const out = new Set(units);
    for (const word of this.all) word.setAttribute("aria-pressed", String(out.has(Number(word.dataset.unit))));
  }

  element(unit) {
    return this.root.querySelector(`.text [data-unit="${unit}"]`);
  }

  /** Return a unit on one line as the server wrote it, in which what nobody sees is visible. */
  name(unit) {
    return (this.element(unit)?.textContent ?? "").replaceAll("\n", "␊").replaceAll("\t", "␉");
  }

  /** Return the score of a unit as the server wrote it. */
  describe(unit) {
    return (this.element(unit)?.title ?? "").replace("±", " ± ");
  }

  focus(unit) {
    this.element(unit)?.focus();
  }

  /** Return the unit that has the focus, or null. */
  focused() {
    const active = this.root.getRootNode().activeElement; // a document's, or a shadow root's
    const word = this.root.contains(active) && active.closest(SELECTOR);
    return word ? Number(word.dataset.unit) : null;
  }

  #at(target, then) {
    const word = target.closest?.(SELECTOR);
    if (word) then(Number(word.dataset.unit));
  }

  #tabStop(target) {
    for (const word of this.all) word.tabIndex = word === target.closest(SELECTOR) ? 0 : -1;
  }

  #key(event, unit, on) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") on.toggle(unit);
    else if (event.key === "r" || event.key === "R") on.replace(unit);
    else {
      const to = this.#neighbour(event.target.closest(SELECTOR), event.key);
      if (!to) return;
      to.focus();
    }
    event.preventDefault();
  }

  #neighbour(word, key) {
    const words = this.all.filter((one) => one.checkVisibility()), at = words.indexOf(word);
    const forward = getComputedStyle(word).direction === "rtl" ? -1 : 1;
    if (key === "ArrowRight") return words[at + forward];
    if (key === "ArrowLeft") return words[at - forward];
    if (key === "Home") return words[0];
    if (key === "End") return words.at(-1);
    if (key === "ArrowDown") return nearest(word, words.slice(at + 1));
    if (key === "ArrowUp") return nearest(word, words.slice(0, at).reverse());
    return null;
  }
}

/** Return the word of the next line that is nearest below or above; `words` begin beside `word`. */
function nearest(word, words) {
  const from = word.getBoundingClientRect(), middle = from.left + from.width / 2;
  const away = (one) => Math.abs(one.left + one.width / 2 - middle);
  let best = null, line = null;
  for (const other of words) {
    const box = other.getBoundingClientRect();
    if (Math.abs(box.top - from.top) < from.height / 2) continue;
    line ??= box.top;
    if (Math.abs(box.top - line) >= box.height / 2) break;
    if (!best || away(box) < away(best.getBoundingClientRect())) best = other;
  }
  return best;
}
