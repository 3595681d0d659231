// The parts of a panel, by name, and rows of probabilities.

import { percent } from "./numbers.js";

const SVG = "http://www.w3.org/2000/svg";

/** Return the element of a panel with this `data-part`. */
export function part(root, name) {
  return root.querySelector(`[data-part="${name}"]`);
}

/** Return the element of a tag with these attributes and children. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Return a text between marks that keep it apart from what is around it, if it is read from right to left. */
export function isolated(text) {
  const leftward = /[\p{sc=Arab}\p{sc=Hebr}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Adlm}]/u;
  return leftward.test(text) ? `\u2068${text}\u2069` : text;
}

/** Return a row of a table: a name, a bar, and a probability, or another text beside an empty bar. */
export function row(name, probability, chosen = false, text = percent(probability)) {
  const svg = document.createElementNS(SVG, "svg"), bar = document.createElementNS(SVG, "rect");
  svg.setAttribute("aria-hidden", "true");
  bar.setAttribute("width", `${(100 * probability).toFixed(2)}%`);
  svg.append(bar);
  const heading = element("th", { scope: "row", title: name }, element("bdi", {}, name));
  const made = element("tr", {}, heading, element("td", {}, svg), element("td", {}, text));
  if (chosen) made.className = "chosen";
  return made;
}
