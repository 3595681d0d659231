// The widget in a notebook: a list of attributions, the article of one of them, and the test of its scores. It stands
// behind the shared scripts in one module, and lives in a shadow root, so that no style leaks in or out.

const TEST = `
<div class=trial data-part=trial hidden>
<p class=readout data-part=readout></p>
<div data-part=actions hidden><button type=button data-part=toggle>Take out</button></div>
<p data-part=outcome role=status></p>
<table class=outcome data-part=bars hidden></table>
</div>
<p data-part=flip hidden></p>`;

function render({ model, el }) {
  const host = document.createElement("div"), shadow = host.attachShadow({ mode: "open" });
  host.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the arrow keys and Enter.
  const style = element("style", {}, model.get("css")), list = chooser(model), shown = element("div");
  shadow.append(style, element("div", { class: "mase widget" }, ...(list ? [list] : []), shown));
  el.append(host);
  followCitations(shown);

  const test = model.get("can_ask") ? new Test(model, shown) : null;
  const handlers = {
    "change:index": () => list && (list.selectedIndex = model.get("index")),
    "change:article": () => {
      shown.innerHTML = model.get("article");
      if (test) test.open();
      else plain(shown);
    },
    "change:out": () => test?.press(),
  };
  handlers["change:index"]();
  handlers["change:article"]();
  for (const [event, handler] of Object.entries(handlers)) model.on(event, handler);
  return () => {
    for (const [event, handler] of Object.entries(handlers)) model.off(event, handler);
  };
}

/** The test of the words of an article, which Python answers. */
class Test {
  constructor(model, shown) {
    [this.model, this.shown] = [model, shown];
    const body = element("div");
    body.innerHTML = TEST;
    this.parts = [...body.children];
    this.words = new Words(shown, {
      toggle: (unit) => this.trial.flip(unit),
      choose: (unit) => this.trial.choose(unit),
      point: (unit) => this.trial.tell(unit),
      replace() {},
    });
    this.trial = new Trial(
      body,
      this.words,
      (units) => set(model, "out", units),
      (units, signal) => answer(model, units, signal),
    );
  }

  /** Show the test in a new article. */
  open() {
    this.words.text?.after(...this.parts);
    this.words.adopt();
    this.trial.open(this.model.get("attribution"));
    this.press();
  }

  /** Show which words are out. */
  press() {
    const units = this.model.get("out");
    this.words.press(units);
    this.trial.show(units);
  }
}

/** Return the list of attributions, or null if there is only one. */
function chooser(model) {
  const headlines = model.get("headlines");
  if (!headlines.length) return null;
  const list = element("select", { size: Math.min(8, headlines.length), "aria-label": "Texts" });
  list.append(...headlines.map((headline, index) => element("option", { dir: "auto" }, `${index + 1}. ${headline}`)));
  list.addEventListener("change", () => set(model, "index", list.selectedIndex));
  return list;
}

/** Make the words of an article ordinary text: nobody can answer what the model predicts without them. */
function plain(root) {
  for (const word of root.querySelectorAll("[data-unit]")) {
    for (const name of ["role", "tabindex", "aria-pressed"]) word.removeAttribute(name);
  }
}

function set(model, name, value) {
  model.set(name, value);
  model.save_changes();
}

/** Return what Python answers for these units. */
function answer(model, units, signal) {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found = model.get("answer");
      if (signal.aborted || String(found.units) !== String(units)) return;
      model.off("change:answer", look);
      if (found.error) reject(new Error(found.error));
      else resolve(found);
    };
    signal.addEventListener("abort", () => model.off("change:answer", look));
    model.on("change:answer", look);
    look();
  });
}

export default { render };
