// The answer of a language model in an article. The fragment of the address is the state of the page, so the links
// between the parts of the answer and their sources are followed here.

export class Answer {
  /**
   * @param {HTMLElement} root the element that holds the article
   * @param {(response: string) => void} choose is called with the response of a part that was pressed; with "" for the
   *   whole answer, when that of the part is shown already
   */
  constructor(root, choose) {
    [this.root, this.choose, this.parts] = [root, choose, []];
    root.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#"]');
      if (!link) return this.#press(event.target.closest(".said .part"));
      event.preventDefault();
      this.#follow(link);
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

  #follow(link) {
    const to = this.root.querySelector(link.hash && "#" + CSS.escape(decodeURIComponent(link.hash.slice(1))));
    if (!to) return;
    const folded = to.closest("details");
    if (folded) folded.open = true;
    if (to.matches(".said .part") && !link.closest(".back")) this.#press(to);
    const stop = to.matches("a, [tabindex]") ? to : to.querySelector("a");
    stop?.focus({ preventScroll: true });
    to.scrollIntoView({ block: "nearest" });
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
