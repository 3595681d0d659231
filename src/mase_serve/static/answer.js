// The parts of the answer of a language model in an article, each of which has scores of its own.

export class Answer {
  /**
   * @param {HTMLElement} root the element that holds the article
   * @param {(response: string) => void} choose is called with the response of a part that was pressed; with "" for the
   *   whole answer, when that of the part is shown already
   */
  constructor(root, choose) {
    [this.root, this.choose, this.parts] = [root, choose, []];
    root.addEventListener("click", ({ target }) => {
      const link = target.closest('a[href^="#"]');
      const to = link && !link.closest(".back") ? root.querySelector(link.getAttribute("href")) : link ? null : target;
      this.#press(to?.closest(".said .part"));
    });
  }

  /** Take note of the attribution, and mark the part whose scores are shown. */
  open({ answer, responses: [first] }) {
    this.parts = [...(answer?.parts ?? [])].sort((one, two) => one.start - two.start);
    this.shown = first.name;
    this.parts.forEach(({ response }, place) => this.#letter(place)?.setAttribute("aria-current", response === first.name));
  }

  /** Return the place of the part that has the focus; -1 if none has. */
  focused() {
    const part = document.activeElement.closest(".said .part");
    return part && this.root.contains(part) ? place(part) : -1;
  }

  focus(place) {
    this.#letter(place)?.focus();
  }

  #letter(place) {
    return this.root.querySelector(`.said .p${place + 1} a`);
  }

  #press(part) {
    if (!part || this.parts.length < 2 || !getSelection().isCollapsed) return;
    const { response } = this.parts[place(part)];
    this.choose(response === this.shown ? "" : response);
  }
}

/** Return the place of a part, which has it in its class: p1, p2, ... */
function place(part) {
  const name = [...part.classList].find((one) => /^p[0-9]+$/.test(one));
  return Number(name.slice(1)) - 1;
}
