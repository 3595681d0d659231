// The state of the page, which is the fragment of its address. Names of the second panel begin with "b.". The second
// panel has the settings of the first one where it does not name others. A document of several fields has their names in
// `fields`, and a text per field in `text.NAME`; the fixed ones are named in `fixed`, and `background.NAME` is what
// replaces a number or a category.

const NAMES = [
  "model", "fields", "text", "fixed", "target", "against", "method", "units", "zoom", "long", "reference", "link", "n_samples",
  "seed", "shown", "out",
];
const OF_FIELDS = ["text.", "background."];
const ofField = (name) => OF_FIELDS.some((start) => name.startsWith(start));

/** Return `{a, b}` from a fragment: the settings of each panel by name, all of them strings; b is null if closed. */
export function read(fragment) {
  const values = new URLSearchParams(fragment.replace(/^#/, ""));
  const of = (prefix) => {
    const names = [...values.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
    const given = names.filter((name) => NAMES.includes(name) || ofField(name));
    return Object.fromEntries(given.map((name) => [name, values.get(prefix + name)]));
  };
  return { a: of(""), b: values.has("b") ? of("b.") : null };
}

/** Return the fragment of a state. */
export function write({ a, b }) {
  const values = new URLSearchParams();
  const add = (settings, prefix) => {
    const names = [...NAMES, ...Object.keys(settings).filter(ofField)];
    for (const name of names) if (settings[name] !== undefined) values.set(prefix + name, settings[name]);
  };
  add(a, "");
  if (b) {
    values.set("b", "");
    add(b, "b.");
  }
  return "#" + values;
}

/** Return settings without those that depend on others, by their names, which have changed. */
function fitting(settings, names) {
  const next = { ...settings };
  if (names.includes("model")) delete next.target, delete next.against, delete next.reference;
  if (names.some((name) => ["model", "target", "against"].includes(name))) delete next.shown;
  if (names.some((name) => ["model", "text", "fields", "fixed", "units"].includes(name) || ofField(name))) delete next.out;
  return next;
}

const kept = (settings, keep) => Object.fromEntries(Object.entries(settings).filter(keep));

/** Return all settings of a panel. An empty one, which only the second panel has, is not that of the first. */
export function settingsOf({ a, b }, side) {
  if (side === "a") return a;
  const { out, ...rest } = a;
  if (b?.model) delete rest.target, delete rest.against, delete rest.reference;
  return { ...rest, ...b };
}

/** Return the state in which a panel has other settings; this opens the second panel if it is that. */
export function changed(state, side, patch) {
  const next = { ...fitting(settingsOf(state, side), Object.keys(patch)), ...patch };
  if (side === "a") {
    const shared = Object.keys(patch).filter((name) => state.b && !(name in state.b));
    const a = kept(next, ([name, value]) => value !== "" || name === "text" || name === "fields");
    return { a, b: state.b && fitting(state.b, shared) };
  }
  const first = settingsOf({ a: state.a, b: next.model === state.a.model ? {} : { model: next.model } }, "b");
  if (next.model !== state.a.model) delete first.model;
  return { ...state, b: kept(next, ([name, value]) => value !== (first[name] ?? "")) };
}

/** Return the names of the fields; none for a plain text. */
export function fieldsOf(settings) {
  const names = (settings.fields ?? "").split(",").map((name) => name.trim());
  return [...new Set(names.filter((name) => name))];
}

/** Return what the model reads: a text, or an object of the fields by name. */
export function contentOf(settings) {
  const names = fieldsOf(settings);
  if (!names.length) return settings.text ?? "";
  return Object.fromEntries(names.map((name) => [name, valueOf(settings, name)]));
}

/** Return whether there is nothing to read. */
export function isEmpty(settings) {
  const content = contentOf(settings), values = typeof content === "string" ? [content] : Object.values(content);
  return values.every((value) => !String(value).trim());
}

/** Return what replaces the fields that are numbers or categories, by name. */
export function backgroundOf(settings) {
  const names = fieldsOf(settings).filter((name) => settings["background." + name]);
  return Object.fromEntries(names.map((name) => [name, pairOf(settings, name)[1]]));
}

/** Return the names of the fields that are never masked. */
export function fixedOf(settings) {
  const fixed = (settings.fixed ?? "").split(",");
  return fieldsOf(settings).filter((name) => fixed.includes(name));
}

const valueOf = (settings, name) => {
  if (settings["background." + name]) return pairOf(settings, name)[0];
  const text = settings["text." + name] ?? "";
  return fixedOf(settings).includes(name) ? held(text) : text;
};

/** Return a field and what replaces it: numbers or truth values if both are, otherwise strings. */
function pairOf(settings, name) {
  const typed = [settings["text." + name] ?? "", settings["background." + name]], said = typed.map(scalar);
  if (!said.some((one) => typeof one === "string")) return said;
  return said.map((one, place) => (typeof one === "string" ? one : typed[place]));
}

/** Return a text that is never masked, or the number or truth value that it says. Quotes of other texts are their own. */
function held(text) {
  const said = scalar(text);
  return typeof said === "string" && typeof scalar(said) === "string" ? text : said;
}

/**
 * Return what a text says, as on the command line: a number, true or false, or a quoted string, as JSON writes them; or
 * the text. A whole number that JavaScript would round is a text.
 */
function scalar(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  const exact = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return exact || ["boolean", "string"].includes(typeof value) ? value : text;
}

/** Return the indices of the units that are taken out. */
export function unitsOut(settings) {
  const given = (settings.out ?? "").split(",").filter((part) => /^[0-9]+$/.test(part));
  return [...new Set(given.map(Number))];
}
