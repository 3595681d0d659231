// The state of the page, which is the fragment of its address. Names of the second panel begin with "b.". The second
// panel has the settings of the first one where it does not name others.

const NAMES = ["model", "text", "target", "method", "units", "reference", "link", "n_samples", "seed", "out"];

/** Return `{a, b}` from a fragment: the settings of each panel by name, all of them strings; b is null if closed. */
export function read(fragment) {
  const values = new URLSearchParams(fragment.replace(/^#/, ""));
  const of = (prefix) => {
    const given = NAMES.filter((name) => values.has(prefix + name));
    return Object.fromEntries(given.map((name) => [name, values.get(prefix + name)]));
  };
  return { a: of(""), b: values.has("b") ? of("b.") : null };
}

/** Return the fragment of a state. */
export function write({ a, b }) {
  const values = new URLSearchParams();
  const add = (settings, prefix) => {
    for (const name of NAMES) if (settings[name] !== undefined) values.set(prefix + name, settings[name]);
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
  if (names.includes("model")) delete next.target, delete next.reference;
  if (["model", "text", "units"].some((name) => names.includes(name))) delete next.out;
  return next;
}

const kept = (settings, keep) => Object.fromEntries(Object.entries(settings).filter(keep));

/** Return all settings of a panel. An empty one, which only the second panel has, is not that of the first. */
export function settingsOf({ a, b }, side) {
  if (side === "a") return a;
  const { out, ...rest } = a;
  if (b?.model) delete rest.target, delete rest.reference;
  return { ...rest, ...b };
}

/** Return the state in which a panel has other settings; this opens the second panel if it is that. */
export function changed(state, side, patch) {
  const next = { ...fitting(settingsOf(state, side), Object.keys(patch)), ...patch };
  if (side === "a") {
    const shared = Object.keys(patch).filter((name) => state.b && !(name in state.b));
    const a = kept(next, ([name, value]) => value !== "" || name === "text");
    return { a, b: state.b && fitting(state.b, shared) };
  }
  const first = settingsOf({ a: state.a, b: next.model === state.a.model ? {} : { model: next.model } }, "b");
  if (next.model !== state.a.model) delete first.model;
  return { ...state, b: kept(next, ([name, value]) => value !== (first[name] ?? "")) };
}

/** Return the indices of the units that are taken out. */
export function unitsOut(settings) {
  const given = (settings.out ?? "").split(",").filter((part) => /^[0-9]+$/.test(part));
  return [...new Set(given.map(Number))];
}
