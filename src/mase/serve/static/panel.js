// One panel: its settings, its text, the prediction, the explanation, and the test of it.

import { Explanation } from "./explanation.js";
import { markup } from "./markup.js";
import { percent } from "./numbers.js";
import { element, part, row } from "./parts.js";
import { Replacement } from "./replacement.js";
import * as server from "./server.js";
import { unitsOut } from "./state.js";
import { Trial } from "./trial.js";
import { Words } from "./words.js";

const PAUSE = 300; // ms without a key before an explanation begins
const SHOWN = 4; // classes with a bar
const FOLDED = ["units", "reference", "link", "n_samples", "seed"];
const EXAMPLE = "A dull start, but the last hour is wonderful.";

export class Panel {
  #waiting = 0; // the timer of the pause
  #predicting = null;
  #asked = {}; // what the prediction and the explanation on the screen are of

  /**
   * @param {HTMLElement} root its section
   * @param {object} choices what the server offers
   * @param {{change: (patch: object) => void, replaced: (text: string) => void, settled: () => void}} on
   *   called when the reader changes a setting, when a word was replaced, and when an explanation came or went
   */
  constructor(root, choices, on) {
    [this.root, this.choices, this.on] = [root, choices, on];
    this.form = root.querySelector("form.controls");
    this.text = root.querySelector("textarea");
    this.explanation = new Explanation();
    this.attribution = null;
    const result = part(root, "result");
    this.trial = new Trial(root, (unit) => this.words.describe(unit), (units) => on.change({ out: units.join(",") }));
    this.words = new Words(result, {
      toggle: (unit) => this.attribution && this.trial.flip(unit),
      replace: (unit) => this.#replace(unit),
      tell: (unit) => this.attribution && this.trial.tell(unit),
    });
    this.replacement = new Replacement(root, this.words, on.replaced);
    part(root, "replace").addEventListener("click", () => this.#replace(this.trial.told));
    part(root, "fold").addEventListener("click", () => this.#fold(part(root, "settings").hidden));
    part(root, "stop").addEventListener("click", () => this.stop());
    part(root, "copies").addEventListener("click", (event) => this.#copy(event.target.dataset.copy));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("change", ({ target }) => target.checkValidity() && on.change({ [target.name]: target.value }));
    this.text.addEventListener("input", () => on.change({ text: this.text.value }, { typed: true }));
  }

  /** Show these settings, and ask the server for what they change. */
  show(settings, { typed = false } = {}) {
    this.settings = settings;
    this.#fill();
    const model = this.choices.models.find(({ name }) => name === settings.model);
    if (!settings.text?.trim()) return this.#empty();
    if (model?.state === "loading") return this.#wait(`${settings.model} is loading …`);
    if (model?.state === "failed") return this.#fail({ message: model.message, type: `${settings.model} could not be loaded` });
    this.#predict();
    const request = this.#request(), asked = JSON.stringify(request);
    if (asked !== this.#asked.explanation) {
      this.#asked.explanation = asked;
      this.#drop();
      this.#say("", null);
      clearTimeout(this.#waiting);
      this.#waiting = setTimeout(() => this.#explain(request), typed ? PAUSE : 0);
    } else if (this.attribution) this.#test();
  }

  /** Cancel what is under way. */
  stop() {
    clearTimeout(this.#waiting);
    if (!this.#asked.explanation || this.attribution) return;
    this.explanation.cancel();
    this.#say("Stopped. Change the text or a setting to explain again.", null);
    this.#asked.explanation = null;
  }

  close() {
    clearTimeout(this.#waiting);
    this.#predicting?.abort();
    this.explanation.cancel();
    this.root.remove();
  }

  // ------------------------------------------------------------------ settings
  #fill() {
    const { settings, choices } = this, controls = this.form.elements;
    const model = choices.models.find(({ name }) => name === settings.model);
    const method = settings.method ?? choices.defaults.method;
    choose(controls.model, settings.model);
    choose(controls.method, method);
    this.#classes(model);
    offer(controls.reference, model?.references ?? []);
    const values = { ...choices.defaults, ...settings };
    for (const name of ["units", "link", "reference"]) choose(controls[name], settings[name] ?? (name === "units" ? values.units : ""));
    for (const name of ["n_samples", "seed"]) controls[name].value = settings[name] ?? "";
    if (this.text.value !== (settings.text ?? "")) this.text.value = settings.text ?? "";
    const n = FOLDED.filter((name) => settings[name] !== undefined).length;
    part(this.root, "changed").textContent = n ? ` · ${n} changed` : "";
    part(this.root, "summary").textContent = choices.methods.find(({ name }) => name === method)?.summary ?? "";
  }

  #fold(open) {
    part(this.root, "settings").hidden = !open;
    part(this.root, "fold").setAttribute("aria-expanded", String(open));
  }

  #classes(model) {
    const probable = new Map(this.predicted?.model === this.settings.model ? this.predicted.classes : []);
    const labels = [...(model?.labels ?? [])].sort((one, two) => (probable.get(two) ?? 0) - (probable.get(one) ?? 0));
    const names = labels.map((label) => (probable.has(label) ? `${label} · ${percent(probable.get(label))}` : label));
    offer(this.form.elements.target, labels, names);
    choose(this.form.elements.target, this.settings.target ?? "");
  }

  #request() {
    const { model, text, target = null, ...rest } = this.settings;
    const settings = { evidence: this.choices.defaults.evidence ?? 5 };
    for (const name of ["method", ...FOLDED]) if (rest[name] !== undefined) settings[name] = rest[name];
    for (const name of ["n_samples", "seed"]) if (name in settings) settings[name] = Number(settings[name]);
    return { model, text, target, settings };
  }

  // ------------------------------------------------------------------ prediction
  /** Ask for the prediction of the newest text. While one is under way, no other begins; then the newest text is next. */
  async #predict() {
    const { model, text } = this.settings, asked = JSON.stringify([model, text]);
    if (asked === this.#asked.prediction) return;
    this.#asked.prediction = asked;
    if (this.#predicting) return;
    this.#predicting = new AbortController();
    try {
      const { labels, probabilities } = await server.predict(model, text, this.#predicting.signal);
      this.predicted = { model, classes: labels.map((label, place) => [label, probabilities[place]]) };
      this.#shown();
    } catch (error) {
      if (error.name !== "AbortError" && asked === this.#asked.prediction) this.#unpredicted(error);
    } finally {
      this.#predicting = null;
    }
    if (this.#asked.prediction && asked !== this.#asked.prediction) {
      this.#asked.prediction = null;
      this.#predict();
    }
  }

  #shown() {
    const ranked = this.predicted.classes.toSorted((one, two) => two[1] - one[1]);
    const { target } = this.settings;
    const rows = ranked.filter(([label], place) => place < SHOWN || label === target);
    part(this.root, "prediction").replaceChildren(...rows.map(([label, probability]) => row(label, probability, label === (target ?? ranked[0][0]))));
    this.#classes(this.choices.models.find(({ name }) => name === this.settings.model));
  }

  #unpredicted(error) {
    this.predicted = null;
    part(this.root, "prediction").replaceChildren();
    this.#fail({ type: error.name, message: error.message });
  }

  // ------------------------------------------------------------------ explanation
  #explain(request) {
    this.#say("Explaining …", 0);
    this.explanation.start(request, {
      queued: ({ ahead }) => this.#say(ahead ? `Waiting for ${ahead} before it` : "Explaining …", 0),
      progress: ({ asked, of }) => this.#count(asked, of),
      round: ({ html }) => this.#article(html),
      done: (data) => this.#done(data),
      failed: (problem) => this.#fail(problem),
      cancelled: () => this.#say("The server stopped the explanation.", null),
    });
  }

  #done({ html, attribution, python, command }) {
    this.attribution = attribution;
    this.copies = { python, command };
    this.#article(html);
    this.trial.open(this.explanation.id, attribution);
    this.root.classList.remove("waiting");
    part(this.root, "copies").hidden = false;
    part(this.root, "download").href = server.page(this.explanation.id);
    this.#say("", null);
    part(this.root, "facts").textContent = facts(attribution);
    this.#test();
    this.on.settled();
  }

  #test() {
    const units = unitsOut(this.settings);
    if (units.join() === this.trial.units.join()) return;
    this.words.press(units);
    this.trial.show(units);
  }

  #article(html) {
    const result = part(this.root, "result"), trial = this.trial.root;
    const focused = this.words.focused();
    const flip = part(this.root, "flip");
    result.replaceChildren(markup(html));
    result.querySelector(".text")?.after(trial, flip);
    this.words.adopt();
    result.classList.remove("stale");
    part(this.root, "problem").hidden = true;
    if (focused !== null) this.words.focus(focused);
  }

  /** Forget the explanation. Its article and the room of what is below stay until there is another one. */
  #drop() {
    this.explanation.cancel();
    this.replacement.close();
    this.root.classList.add("waiting");
    part(this.root, "result").classList.add("stale");
    part(this.root, "problem").hidden = true;
    this.trial.close();
    this.attribution = null;
    this.on.settled();
  }

  // ------------------------------------------------------------------ messages
  #say(message, progress) {
    const bar = part(this.root, "progress"), running = progress !== null;
    part(this.root, "status").textContent = message;
    part(this.root, "counter").textContent = part(this.root, "facts").textContent = "";
    bar.hidden = part(this.root, "stop").hidden = !running;
    bar.value = progress ?? 0;
  }

  #count(asked, of) {
    part(this.root, "progress").value = asked / of;
    part(this.root, "counter").textContent = `${asked.toLocaleString("en")} of ${of.toLocaleString("en")} evaluations`;
  }

  #wait(message) {
    this.#nothing();
    this.#say(message, null);
  }

  #fail({ type, message }) {
    this.#say("", null);
    this.#clear();
    const problem = part(this.root, "problem");
    problem.replaceChildren(element("strong", {}, type), " ", message);
    problem.hidden = false;
  }

  #nothing() {
    clearTimeout(this.#waiting);
    this.#asked = {};
    this.predicted = null;
    part(this.root, "prediction").replaceChildren();
    this.#drop();
    this.#clear();
  }

  #clear() {
    for (const name of ["trial", "flip", "copies"]) part(this.root, name).hidden = true;
    this.root.append(this.trial.root, part(this.root, "flip"));
    part(this.root, "result").replaceChildren();
    part(this.root, "result").classList.remove("stale");
  }

  #empty() {
    this.#nothing();
    this.#say("", null);
    const example = element("button", { type: "button", class: "chip" }, EXAMPLE);
    example.addEventListener("click", () => this.on.change({ text: EXAMPLE }));
    part(this.root, "result").replaceChildren(element("p", { class: "empty" }, "Type a text to see what the model makes of it, or try ", example));
  }

  // ------------------------------------------------------------------ what can be done with it
  #replace(unit) {
    if (this.attribution) this.replacement.open(unit, this.attribution);
  }

  async #copy(kind) {
    if (!kind) return;
    const said = part(this.root, "copied");
    try {
      const content = this.copies[kind] ?? (await server.text(this.explanation.id, kind));
      await navigator.clipboard.writeText(content);
      said.textContent = `Copied as ${kind === "python" ? "Python" : kind.length === 4 ? kind.toUpperCase() : kind}.`;
    } catch (error) {
      said.textContent = `Not copied: ${error.message}`;
    }
  }
}

function facts({ fit, responses: [{ r2 }] }) {
  const cost = `${fit.n_queries.toLocaleString("en")} evaluations in ${fit.seconds < 1 ? `${Math.round(1000 * fit.seconds)} ms` : `${fit.seconds.toFixed(1)} s`}`;
  return r2 === null ? cost : `R² ${r2 >= 0.995 && r2 < 1 ? "> 0.99" : r2.toFixed(2).replace("-", "−")} · ${cost}`;
}

/** Choose a value; one that is not offered is added, and the server says what it makes of it. */
function choose(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.add(new Option(value, value));
  if (select.value !== value) select.value = value;
}

/** Replace all options but the first one, if they are others. */
function offer(select, values, names = values) {
  const now = [...select.options].slice(1), same = now.length === values.length;
  if (same && now.every((option, place) => option.value === values[place] && option.text === names[place])) return;
  const chosen = select.value;
  now.forEach((option) => option.remove());
  values.forEach((value, place) => select.add(new Option(names[place], value)));
  select.value = values.includes(chosen) ? chosen : "";
}
