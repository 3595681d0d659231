// The test of an explanation: words are taken out, and the model's probability stands beside what the scores led to
// expect.

import { amount, percent, signed } from "./numbers.js";
import { element, part, row } from "./parts.js";

const HINT = "Click a piece of the text, or press Enter on it, to take it out and see whether the scores hold.";
const HINT_OF_ANSWER = "Click a piece of a source, or press Enter on it, to take it out and see what becomes of the answer.";

export class Trial {
  #asking = null;

  /**
   * @param {HTMLElement} root the panel
   * @param {Words} words the words of the article, which names and describes the units
   * @param {(units: number[]) => void} take is called with the units that shall be out
   * @param {(units: number[], signal: AbortSignal) => Promise<object>} ask answers what the model predicts without them
   */
  constructor(root, words, take, ask) {
    this.root = part(root, "trial");
    this.flipLine = part(root, "flip");
    [this.words, this.take, this.ask, this.chosen] = [words, take, ask, null];
    this.units = [];
    part(root, "actions").addEventListener("click", (event) => {
      if (event.target.dataset.part === "toggle") this.flip(this.chosen);
    });
  }

  /** Show the test of a new explanation. */
  open(attribution) {
    const given = JSON.stringify([attribution.document, attribution.units]);
    if (given !== this.given) this.chosen = null;
    [this.attribution, this.given, this.units, this.other] = [attribution, given, [], null];
    this.root.hidden = false;
    this.#flipSet();
    this.show([]);
  }

  /** Forget the explanation. */
  close() {
    this.#asking?.abort();
    this.attribution = null;
  }

  /** Take a unit out, or put it back. */
  flip(unit) {
    this.take(this.units.includes(unit) ? this.units.filter((other) => other !== unit) : [...this.units, unit]);
  }

  /** Choose the unit that the buttons are for, or keep the one that is chosen. */
  choose(unit = this.chosen) {
    this.chosen = this.attribution?.units[unit] ? unit : null;
    part(this.root, "actions").hidden = this.chosen === null;
    part(this.root, "toggle").textContent = this.units.includes(this.chosen) ? "Put back" : "Take out";
    this.root.classList.toggle("active", this.chosen !== null || this.units.length > 0);
    this.tell(this.chosen);
  }

  /** Say what the score of a unit is; with null, of the chosen one. */
  tell(unit) {
    const told = unit ?? this.chosen, readout = part(this.root, "readout");
    if (told === null) return void (readout.textContent = this.units.length ? "" : this.#hint);
    const there = this.other?.get(told);
    const word = element("bdi", { class: "name" }, this.words.name(told));
    readout.replaceChildren(word, " " + this.words.describe(told), there ? ` (the other: ${there})` : "");
  }

  get #hint() {
    return this.attribution.answer ? HINT_OF_ANSWER : HINT;
  }

  /** Take these units out and ask the model. */
  async show(units) {
    this.#asking?.abort();
    this.units = units.filter((unit) => this.attribution.units[unit]);
    const outcome = part(this.root, "outcome");
    this.choose();
    part(this.root, "bars").hidden = true;
    if (!this.units.length) return void outcome.replaceChildren();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    try {
      const found = await this.ask(this.units, signal);
      if (!signal.aborted) this.#outcome(found);
    } catch (error) {
      if (!signal.aborted) outcome.textContent = error.message;
    }
  }

  #outcome(found) {
    const words = listed(this.units.map((unit) => this.words.name(unit)));
    const rows = this.attribution.answer ? [] : this.#rows(found), bars = part(this.root, "bars");
    bars.hidden = !rows.length;
    bars.replaceChildren(...rows);
    const said = this.attribution.answer ? this.#answered(found) : this.#predicted(found);
    const back = this.units.length > 1 || this.chosen !== this.units[0] ? [" ", this.#back()] : [];
    part(this.root, "outcome").replaceChildren("Without ", ...words, ": ", ...said, ...back);
  }

  /** Return the probability beside the one that the scores led to expect, as rows; none for a value. */
  #rows(found) {
    if (found.target_probability === null) return [];
    const expected = found.expected_probability;
    const rows = [row("the model says", found.target_probability)];
    return expected === null ? rows : [...rows, row("the scores say", expected)];
  }

  #predicted(found) {
    const { prediction, responses: [response] } = this.attribution;
    const before = prediction.probabilities[response.name] ?? null;
    const name = element("bdi", {}, response.name);
    if (before === null) {
      const [now, then] = [found.response, response.value].map(amount);
      const { expected_response: expected } = found;
      const said = expected === null ? "" : `; the scores led to expect ${amount(expected)}`;
      return [name, ` ${now} instead of ${then}${said}.`];
    }
    const sentence = [name, ` ${percent(found.target_probability)} instead of ${percent(before)}.`];
    if (prediction.multilabel) {
      const is = found.target_probability >= 0.5;
      if (is !== (before >= 0.5)) sentence.push(is ? " Now it is predicted." : " It is no longer predicted.");
    } else if (found.label !== prediction.label) {
      sentence.push(" The prediction changes to ", element("bdi", {}, found.label), ` ${percent(found.probability)}.`);
    }
    if (found.expected_probability === null && found.expected_response !== null) {
      const [is, whole, expected] = [found.response, response.value, found.expected_response].map(signed);
      sentence.push(` The ${response.link} is ${is} instead of ${whole}; the scores led to expect ${expected}.`);
    }
    return sentence;
  }

  /** Return what becomes of the probability of an answer, or of the part of it that is explained. */
  #answered(found) {
    const { answer, responses: [response] } = this.attribution, { name, told } = numberOf(response);
    const isPart = answer.parts.length > 1 && answer.parts.some((one) => one.response === response.name);
    const whole = response.against ? "the answer less that of the other one" : "the answer";
    const of = isPart ? ["the part ", ...quoted(response.name)] : [whole];
    const [now, then] = [found.response, response.value].map(told);
    const expected = found.expected_response === null ? "" : `; the scores said ${told(found.expected_response)}`;
    return [`the ${name} of `, ...of, ` is ${now} instead of ${then}${expected}.`];
  }

  #back() {
    const back = element("button", { type: "button" }, this.units.length > 1 ? "Put all back" : "Put it back");
    back.addEventListener("click", () => this.take([]));
    return back;
  }

  #flipSet() {
    const { evidence, prediction, responses } = this.attribution, line = this.flipLine;
    const [{ name }] = responses;
    // Of separate questions, a class is predicted if it is probable.
    const predicted = prediction.multilabel ? prediction.probabilities[name] >= 0.5 : prediction.label === name;
    line.hidden = !evidence || prediction.probability === null || !predicted;
    if (line.hidden) return;
    line.textContent = "No small part of the text was found without which the prediction changes.";
    if (!evidence.flip_set) return;
    const { units, label, probability, smallest } = evidence.flip_set;
    const words = units.flatMap((unit, place) => [place ? " + " : "", ...quoted(this.words.name(unit))]);
    const chip = element("button", { type: "button", class: "chip" }, ...words);
    chip.addEventListener("click", () => this.take([...units]));
    const size = smallest ? "the smallest set" : "a small set";
    const to = element("bdi", {}, label);
    line.replaceChildren("What flips it: without ", chip, ": ", to, ` ${percent(probability)} (${size})`);
  }
}

/** Return the name of the explained number of an answer, and how it is told. Log-odds are told as log-probabilities. */
function numberOf({ link, against }) {
  const logarithm = (odds) => Math.min(odds, 0) - Math.log1p(Math.exp(-Math.abs(odds)));
  if (link === "logit" && !against) return { name: "log-probability", told: (odds) => signed(logarithm(odds)) };
  if (link === "probability") return { name: link, told: against ? signed : percent };
  const names = { logit: "log-odds", "mean-log-probability": "log-probability per token" };
  return { name: names[link] ?? link, told: signed };
}

/** Return a word in quotation marks, apart from the direction of what is around it. */
function quoted(word) {
  return ["“", element("bdi", {}, word), "”"];
}

function listed(words) {
  const between = (place) => (place === 0 ? "" : place < words.length - 1 ? ", " : " and ");
  return words.flatMap((word, place) => [between(place), ...quoted(word)]);
}
