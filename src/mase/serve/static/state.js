// The state of the page, which is the fragment of its address. Names of the second panel begin with "b.". The second
// panel has the settings of the first one where it does not name others.

const NAMES = ["model", "text", "target", "method", "units", "reference", "link", "n_samples", "seed", "out"];

/** Return `{a, b}` from a fragment: the settings of each panel by name, all of them strings; b is null if closed. */
export function read(fragment) {
  const values = new URLSearchParams(fragment.replace(/^#/, ""));
  const of = (prefix) =>
    Object.fromEntries(NAMES.filter((name) => values.has(prefix + name)).map((name) => [name, values.get(prefix + name)]));
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

/** Return settings with some replaced; what depends on a replaced one and no longer fits is forgotten. */
export function changed(settings, patch) {
  const next = { ...settings, ...patch };
  if ("model" in patch) delete next.target, delete next.reference;
  if (["model", "text", "units"].some((name) => name in patch) && !("out" in patch)) delete next.out;
  for (const name of NAMES) if (next[name] === "" && name !== "text") delete next[name];
  return next;
}

/** Return all settings of the second panel. */
export function inherited({ a, b }) {
  const { out, ...rest } = a;
  if ("model" in b) delete rest.target, delete rest.reference;
  return { ...rest, ...b };
}

/** Return the indices of the units that are taken out. */
export function unitsOut(settings) {
  return (settings.out ?? "").split(",").filter((part) => /^[0-9]+$/.test(part)).map(Number);
}
