// One panel: its settings, its text, the prediction, the explanation, and the test of it.

import { Answer } from "./answer.js";
import { Boxes } from "./boxes.js";
import { followCitations } from "./citations.js";
import { Copies } from "./copies.js";
import { Explanation } from "./explanation.js";
import { facts, soFar } from "./facts.js";
import { markup } from "./markup.js";
import { element, part } from "./parts.js";
import { Prediction } from "./prediction.js";
import { isUnprompted, sourcesOf } from "./prompt.js";
import { Regenerated } from "./regenerated.js";
import { Replacement } from "./replacement.js";
import * as server from "./server.js";
import { Settings } from "./settings.js";
import { contentOf, fieldsOf, isEmpty, unitsOut } from "./state.js";
import { Trial } from "./trial.js";
import { Words } from "./words.js";

const PAUSE = 300; // ms without a key before an explanation begins
const EXPLAINING = "Explaining …", ANSWERING = "Answering …";
const OTHER_MODEL = "Choose another model, or start mase serve with -m and this one.";
const EXAMPLE = { text: "A dull start, but the last hour is wonderful." };
const QUESTION = { text: "Ann lives in Oslo. Bob lives in Rome. Both like tea.", "text.query": "Where does Bob live?" };

export class Panel {
  #waiting = 0; // the timer of the pause
  #asked = null; // what the explanation is of that is on the screen or under way, or ended without one
  #ended = false; // whether it ended without one, so that the same can be asked for again
  #choosing = null; // what ends the question for the article of another response
  #edited = false; // whether a prompt was typed that was not asked: a language model takes too long to follow every key

  /**
   * @param {HTMLElement} root its section
   * @param {object} choices what the server offers
   * @param {{change: (patch: object) => void, replaced: (patch: object) => void, settled: () => void}} on
   *   called when the reader changes a setting, when a word was replaced, and when an explanation came or went
   */
  constructor(root, choices, on) {
    [this.root, this.choices, this.on, this.attribution] = [root, choices, on, null];
    this.boxes = new Boxes(root, on.change, () => this.answers && this.show(this.settings, { opened: true }));
    this.controls = new Settings(root, choices, on.change);
    this.prediction = new Prediction(root, {
      predicted: () => this.#predicted(),
      failed: (problem) => {
        this.controls.show(this.settings, this.prediction);
        this.#fail({ type: problem.name, message: problem.message });
      },
    });
    this.explanation = new Explanation();
    this.words = new Words(part(root, "result"), {
      toggle: (unit) => this.attribution && this.trial.flip(unit),
      replace: (unit) => this.#replace(unit),
      choose: (unit) => this.attribution && this.trial.choose(unit),
      point: (unit) => this.attribution && this.trial.tell(unit),
    });
    followCitations(part(root, "result"));
    this.trial = new Trial(
      root,
      this.words,
      (units) => on.change({ out: units.join(",") }),
      (units, signal) => server.without(this.explanation.id, units, this.attribution.responses[0].name, signal),
    );
    this.answer = new Answer(part(root, "result"), (shown) => this.attribution && on.change({ shown }));
    this.regenerated = new Regenerated(root, (units, signal) => server.regenerate(this.explanation.id, units, signal));
    this.copies = new Copies(root);
    this.replacement = new Replacement(root, this.words, on.replaced);
    part(root, "replace").addEventListener("click", () => this.#replace(this.trial.chosen));
    part(root, "stop").addEventListener("click", () => this.stop());
    part(root, "shown").addEventListener("change", ({ target }) => on.change({ shown: target.value }));
  }

  /** Show these settings, and ask the server for what they change. */
  show(settings, { typed = false, opened = false } = {}) {
    const model = this.choices.models.find(({ name }) => name === settings.model);
    if (settings.model !== this.settings?.model) this.prediction.forget();
    [this.settings, this.answers] = [settings, Boolean(model?.answers)];
    if (opened) this.#edited = false;
    for (const one of this.root.querySelectorAll("[data-for]")) one.hidden = (one.dataset.for === "answers") !== this.answers;
    this.boxes.show(settings, this.answers);
    if (this.answers ? isUnprompted(settings) : isEmpty(settings)) this.#empty();
    else if (!model) this.#unable(`${settings.model} is not open here.`, OTHER_MODEL);
    else if (model.state === "loading") this.#nothing(`${settings.model} is loading …`);
    else if (model.state === "failed") this.#unable(`${settings.model} could not be loaded.`, model.message);
    else this.#ask(typed, opened);
    this.controls.show(settings, this.prediction); // which is forgotten by now if there is nothing to predict
  }

  /** Return the settings by which another panel explains the same response. */
  explained() {
    return this.answers ? {} : { target: this.attribution.responses[0].name };
  }

  /** Cancel what is under way. */
  stop() {
    clearTimeout(this.#waiting);
    if (!this.#asked || this.#ended || this.attribution) return;
    this.explanation.cancel();
    this.#ended = true;
    this.#say("Stopped. Change the text or a setting to explain again.");
  }

  close() {
    clearTimeout(this.#waiting);
    this.prediction.forget();
    this.explanation.cancel();
    this.root.remove();
  }

  // ------------------------------------------------------------------ prediction and explanation
  #ask(typed, opened) {
    if (!this.answers) this.#predict();
    const request = this.controls.request(this.settings), asked = JSON.stringify(request);
    if (asked === this.#asked && !(opened && this.#ended)) {
      if (this.attribution) this.#choose();
      return;
    }
    this.#edited ||= this.answers && typed;
    if (this.#edited) this.root.querySelector(".empty")?.remove();
    this.#asked = this.#edited ? null : asked;
    this.#ended = false;
    this.#drop();
    this.#say("");
    clearTimeout(this.#waiting);
    if (this.#asked) this.#waiting = setTimeout(() => this.#explain(request), typed ? PAUSE : 0);
  }

  #predict() {
    this.prediction.ask(this.settings.model, contentOf(this.settings));
    if (this.prediction.numbers.size) this.prediction.show(this.settings.target);
  }

  #predicted() {
    this.controls.show(this.settings, this.prediction);
    this.prediction.show(this.settings.target);
  }

  #explain(request) {
    const begins = this.answers && !request.text.answer ? ANSWERING : EXPLAINING;
    this.#say(begins, 0);
    this.explanation.start(request, {
      queued: ({ ahead }) => this.#say(ahead ? `Waiting for ${ahead} before it …` : begins, 0),
      answer: ({ text }) => this.#said(text),
      progress: ({ asked, of }) => this.#count(asked, of),
      round: ({ html }) => {
        this.#article(html);
        soFar(part(this.root, "result"), part(this.root, "counter").textContent);
      },
      done: (data) => this.#done(data),
      failed: (problem) => this.#lose(problem),
      cancelled: () => {
        this.#ended = true;
        this.#say("The server stopped the explanation.");
      },
    });
  }

  /** Show an answer whose sources are not known yet. */
  #said(text) {
    this.#clear();
    part(this.root, "result").replaceChildren(element("p", { class: "text said", dir: "auto", lang: "" }, text));
    this.#say(EXPLAINING, 0);
  }

  #done({ html, attribution, ...copies }) {
    this.copies.open(this.explanation.id, copies);
    this.#open(html, attribution);
    this.#responses();
    this.root.classList.remove("waiting");
    this.#choose();
    this.on.settled();
  }

  /** Show an attribution, whose first response is the one to show. */
  #open(html, attribution) {
    this.#article(html);
    this.attribution = attribution;
    this.trial.open(attribution);
    this.answer.open(attribution);
    this.copies.show(attribution.responses[0].name);
    this.#say(facts(attribution));
  }

  /** Offer the responses, if there are several. */
  #responses() {
    const { responses } = this.attribution, select = part(this.root, "shown");
    part(this.root, "responses").hidden = responses.length < 2;
    select.replaceChildren(...responses.map(({ name }) => new Option(name, name)));
  }

  /** Show the response that the reader chose, and the test of its words. */
  async #choose() {
    this.#choosing?.abort();
    const { responses } = this.attribution, { signal } = (this.#choosing = new AbortController());
    const name = this.settings.shown || part(this.root, "shown").options[0].value;
    const chosen = responses.find((response) => response.name === name);
    if (chosen) part(this.root, "shown").value = name;
    if (!chosen || chosen === responses[0]) return this.#test();
    try {
      const html = await server.article(this.explanation.id, name, signal);
      if (signal.aborted) return;
      const others = responses.filter((one) => one !== chosen);
      this.#open(html, { ...this.attribution, responses: [chosen, ...others] });
      this.#test();
      this.on.settled();
    } catch ({ name: type, message }) {
      if (!signal.aborted) this.#lose({ type, message });
    }
  }

  #test() {
    const units = unitsOut(this.settings);
    if (units.join() === this.trial.units.join()) return;
    this.words.press(units);
    this.trial.show(units);
    this.regenerated.offer(this.trial.units, this.attribution.answer);
  }

  /** Show an article; the test of the words stands below their text. */
  #article(html) {
    const result = part(this.root, "result"), focused = this.words.focused(), inAnswer = this.answer.focused();
    result.replaceChildren(markup(html));
    this.words.text?.after(this.trial.root, this.trial.flipLine);
    this.regenerated.place();
    result.classList.remove("stale");
    this.words.adopt();
    part(this.root, "problem").hidden = true;
    if (focused !== null) this.words.focus(focused);
    this.answer.focus(inAnswer);
  }

  /** Forget the explanation. Its article and the room of what is below stay until there is another one. */
  #drop() {
    this.explanation.cancel();
    this.#choosing?.abort();
    this.replacement.close();
    this.trial.close();
    this.regenerated.offer([], null);
    this.root.classList.add("waiting");
    part(this.root, "result").classList.add("stale");
    part(this.root, "problem").hidden = true;
    this.attribution = null;
    this.on.settled();
  }

  // ------------------------------------------------------------------ messages
  /** Say something; `progress` is a share of the evaluations if an explanation is under way. */
  #say(message, progress = null) {
    const bar = part(this.root, "progress");
    part(this.root, "status").textContent = message;
    part(this.root, "counter").textContent = "";
    bar.hidden = part(this.root, "stop").hidden = progress === null;
    bar.value = progress ?? 0;
  }

  #count(asked, of) {
    const status = part(this.root, "status");
    if (status.textContent !== EXPLAINING) status.textContent = EXPLAINING;
    part(this.root, "progress").value = asked / of;
    part(this.root, "counter").textContent = `${asked.toLocaleString("en")} of ${of.toLocaleString("en")} evaluations`;
  }

  /** Say why there is no explanation. The same one can be asked for again. */
  #lose(problem) {
    this.#ended = true;
    this.#drop();
    this.#fail(problem);
  }

  #fail({ type, message }) {
    this.#say("");
    this.#clear();
    const problem = part(this.root, "problem");
    problem.replaceChildren(element("strong", {}, type), " ", message);
    problem.hidden = false;
  }

  #unable(type, message) {
    this.#nothing("");
    this.#fail({ type, message });
  }

  #empty() {
    this.#nothing("");
    this.#edited = false;
    if (fieldsOf(this.settings).length) return;
    const patch = this.answers ? QUESTION : EXAMPLE, example = element("button", { type: "button", class: "chip" });
    example.append(Object.values(patch).join(" "));
    example.addEventListener("click", () => this.on.change(patch));
    const hint = this.answers ? "Give a text and a query, or try " : "Type a text to see what the model makes of it, or try ";
    part(this.root, "result").replaceChildren(element("p", { class: "empty" }, hint, example));
  }

  #nothing(message) {
    clearTimeout(this.#waiting);
    this.#asked = null;
    this.prediction.forget();
    this.#drop();
    this.#clear();
    this.#say(message);
  }

  #clear() {
    for (const name of ["trial", "flip", "copies", "responses"]) part(this.root, name).hidden = true;
    this.root.append(this.trial.root, this.trial.flipLine);
    part(this.root, "result").replaceChildren();
    part(this.root, "result").classList.remove("stale");
  }

  // ------------------------------------------------------------------ what can be done with it
  #replace(unit) {
    const fields = this.answers ? sourcesOf(this.settings) : fieldsOf(this.settings);
    if (this.attribution) this.replacement.open(unit, this.attribution, fields.length > 0);
  }
}
