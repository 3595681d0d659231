// The controls of a panel.

import { isolated, part } from "./parts.js";
import { promptOf } from "./prompt.js";
import { backgroundOf, contentOf, fixedOf } from "./state.js";

const FOLDED = ["units", "zoom", "long", "reference", "link", "n_samples", "seed"];
const CLASSES = [...FOLDED, "against"], ANSWERS = ["units", "link", "n_samples", "seed"];
const NUMBERS = ["zoom", "n_samples", "seed"];
const TYPED = ["units", ...NUMBERS, "fields"];

export class Settings {
  /**
   * @param {HTMLElement} root the panel
   * @param {object} choices what the server offers
   * @param {(patch: object) => void} change is called with a setting that the reader chose
   */
  constructor(root, choices, change) {
    [this.root, this.choices, this.form] = [root, choices, root.querySelector("form.controls")];
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("change", ({ target }) => {
      if (target.checkValidity()) change({ [target.name]: target.value });
      else target.reportValidity();
    });
    part(root, "fold").addEventListener("click", () => this.#fold(part(root, "settings").hidden));
  }

  /** Show these settings, and what is predicted of the classes beside their names. */
  show(settings, prediction) {
    const { choices, form: { elements } } = this;
    const model = choices.models.find(({ name }) => name === settings.model), answers = Boolean(model?.answers);
    const defaults = answers ? choices.cite : choices.defaults, method = settings.method || defaults.method;
    elements.units.placeholder = defaults.units;
    choose(elements.model, settings.model);
    choose(elements.method, method);
    this.#classes(model?.labels ?? [], prediction);
    offer(elements.reference, model?.references ?? []);
    offer(elements.link, answers ? choices.answer_links : choices.links);
    for (const name of ["target", "against", "long", "link", "reference"]) choose(elements[name], settings[name] ?? "");
    for (const name of TYPED) elements[name].value = settings[name] ?? "";
    const n = (answers ? ANSWERS : CLASSES).filter((name) => settings[name]).length;
    part(this.root, "changed").textContent = n ? ` · ${n} changed` : "";
    part(this.root, "summary").textContent = choices.methods.find(({ name }) => name === method)?.summary ?? "";
  }

  /** Return the request of an explanation with these settings. */
  request(chosen) {
    const { model, target, against } = chosen, { choices } = this;
    const { answers } = choices.models.find(({ name }) => name === model);
    const settings = answers ? this.#given(chosen, ANSWERS, choices.cite) : this.#given(chosen, FOLDED, {});
    if (answers) return { model, text: promptOf(chosen), target: null, against: against?.trim() ? against : null, settings };
    settings.evidence = choices.defaults.evidence;
    settings.fixed = fixedOf(chosen);
    settings.background = backgroundOf(chosen);
    return { model, text: contentOf(chosen), target: target || null, against: against || null, settings };
  }

  #given(chosen, names, { method, units, evidence }) {
    const settings = { method, units, evidence };
    for (const name of ["method", ...names]) if (chosen[name]) settings[name] = chosen[name];
    for (const name of NUMBERS) {
      const value = Number(settings[name]);
      if (Number.isFinite(value)) settings[name] = value; // the server says what is wrong with any other one
    }
    return settings;
  }

  #classes(labels, prediction) {
    const ranked = prediction.ranked(labels);
    const names = ranked.map((label) => [isolated(label), prediction.said(label)].filter(Boolean).join(" · "));
    const all = labels.length > 1 && !labels.includes("all") ? ["all"] : [];
    offer(this.form.elements.target, [...all, ...ranked], [...all.map(() => "all classes"), ...names]);
    offer(this.form.elements.against, labels.length > 1 ? labels : []);
  }

  #fold(open) {
    part(this.root, "settings").hidden = !open;
    part(this.root, "fold").setAttribute("aria-expanded", String(open));
  }
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
