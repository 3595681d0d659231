// The page: one or two panels, and the address that keeps their state.

import { differences } from "./differences.js";
import { Panel } from "./panel.js";
import * as server from "./server.js";
import { changed, read, settingsOf, write } from "./state.js";

const SETTLED = 400; // ms without a key before a text enters the history
const ONE_EDIT = 4000; // ms in which texts that follow each other are one entry of it
const POLL = 1000; // ms between questions about models that load

const choices = JSON.parse(document.getElementById("choices").textContent);
const row = document.querySelector(".panels");
const compare = document.querySelector('[data-part="compare"]');
const panels = { a: panel("a", row.querySelector(".panel")), b: null };
let state = null;

function panel(side, root) {
  return new Panel(root, choices, {
    change: (patch, options) => change(side, patch, options),
    replaced: (patch) => change("b", { ...patch, ...panels[side].explained() }),
    settled: () => mark(),
  });
}

// ------------------------------------------------------------------ state and address
function change(side, patch, { typed = false } = {}) {
  const now = settingsOf(state, side);
  const same = Object.entries(patch).every(([name, value]) => (now[name] ?? "") === value);
  if (same && (side === "a" || state.b)) return;
  state = changed(state, side, patch);
  show({ typed });
  remember(typed);
}

let typing = 0, edited = -Infinity;

function remember(typed) {
  clearTimeout(typing);
  if (typed) typing = setTimeout(() => enter(performance.now() - edited < ONE_EDIT, performance.now()), SETTLED);
  else enter(false, -Infinity);
}

function enter(replace, at) {
  edited = at;
  typing = 0;
  if (replace) history.replaceState(null, "", write(state));
  else if (write(state) !== location.hash) history.pushState(null, "", write(state));
}

function open() {
  state = read(location.hash);
  state.a.model ??= choices.defaults.model ?? choices.models[0]?.name;
  if (choices.defaults.fields.length) state.a.fields ??= choices.defaults.fields.join(",");
  show({ opened: true });
}

function show(options) {
  for (const settings of [state.a, state.b]) if (settings?.model) settings.model = opened(settings.model);
  if (state.b && !panels.b) openSecond();
  if (!state.b && panels.b) closeSecond();
  panels.a.show(state.a, options);
  panels.b?.show(settingsOf(state, "b"), options);
}

/** Return the name by which a model is open here; links of corpora have the name by which results call it. */
function opened(name) {
  const isOpen = choices.models.some((model) => model.name === name);
  const called = isOpen ? [] : choices.models.filter((model) => model.called === name);
  return called.length === 1 ? called[0].name : name;
}

// ------------------------------------------------------------------ the second panel
function openSecond() {
  row.append(document.getElementById("second").content.cloneNode(true));
  panels.b = panel("b", row.lastElementChild);
  part(panels.b, "close").addEventListener("click", toggle);
  row.classList.add("two");
  compare.hidden = true;
}

function closeSecond() {
  panels.b.close();
  panels.b = null;
  row.classList.remove("two");
  compare.hidden = false;
  mark();
}

function toggle() {
  const opens = !state.b;
  state = { ...state, b: opens ? {} : null };
  show();
  remember(false);
  (opens ? panels.b.root.querySelector("select") : compare).focus();
}

function part(panel, name) {
  return panel.root.querySelector(`[data-part="${name}"]`);
}

// ------------------------------------------------------------------ differences
function mark() {
  const legend = document.getElementById("differences");
  const { a, b } = panels;
  legend.hidden = !b;
  legend.textContent = "Words that differ will be framed.";
  for (const one of [a, b]) {
    one?.root.querySelectorAll(".differs, .alone").forEach((word) => word.classList.remove("differs", "alone"));
    if (one) one.trial.other = null;
  }
  if (!a?.attribution || !b?.attribution) return;
  const found = differences(a.attribution, b.attribution);
  for (const [side, one, two] of [["a", a, b], ["b", b, a]]) {
    for (const unit of found.units[side]) one.words.element(unit)?.classList.add("differs");
    for (const unit of found.alone[side]) one.words.element(unit)?.classList.add("alone");
    one.trial.other = new Map([...found.other[side]].map(([unit, there]) => [unit, two.words.describe(there)]));
  }
  legend.textContent = sentence(found);
}

function sentence({ units, alone, comparable, n }) {
  const rule = comparable
    ? "by a tenth of the largest score or more, and beyond the sampling error"
    : "only one explanation has them among its five strongest words";
  const none = comparable
    ? "No score differs by a tenth of the largest one or more, beyond the sampling error."
    : "Both have the same words among their five strongest.";
  const count = units.a.size;
  const some = count ? `${count} of ${n} words ${count === 1 ? "differs" : "differ"} (framed): ${rule}.` : none;
  const only = alone.a.size + alone.b.size ? " Words with a dotted frame have no counterpart in the other text." : "";
  const scale = comparable ? "" : " The scores have no common unit, since the two explain different numbers.";
  return some + only + scale;
}

// ------------------------------------------------------------------ models that load
async function poll() {
  if (!choices.models.some(({ state }) => state === "loading")) return;
  try {
    const before = JSON.stringify(choices.models);
    choices.models = await server.models();
    if (before !== JSON.stringify(choices.models)) show();
  } catch {
    // The next question of a panel says that the server is gone.
  }
  setTimeout(poll, POLL);
}

// ------------------------------------------------------------------ events
compare.addEventListener("click", toggle);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment is the state
  panels.a.boxes.focus();
});
addEventListener("popstate", open);
addEventListener("pagehide", () => typing && history.replaceState(null, "", write(state)));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  const menu = document.querySelector("details.menu[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  } else for (const one of Object.values(panels)) one?.stop();
});
document.addEventListener("click", ({ target }) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
});
open();
const isNew = !Object.keys(state.a).some((name) => name.startsWith("text"));
if (isNew && document.activeElement === document.body) panels.a.boxes.focus();
poll();
