// What an explanation cost, how well it fits, and how far it is.

import { duration, share } from "./numbers.js";

/** Return the facts about an attribution in a line. */
export function facts({ fit, zoomed, responses: [{ r2, r2_held_out: left }] }) {
  const n = fit.n_queries + (zoomed?.fit.n_queries ?? 0), seconds = fit.seconds + (zoomed?.fit.seconds ?? 0);
  const cost = `${n.toLocaleString("en")} evaluations in ${duration(seconds)}`;
  const heldOut = left === null ? "" : `held out ${share(left)} · `;
  return r2 === null ? cost : `R² ${share(r2)} · ${heldOut}${cost}`;
}

/** Say in the place of the verdict of an article that its scores are not final. */
export function soFar(article, evaluations) {
  const verdict = article.querySelector(".verdict");
  verdict.className = "verdict partial";
  verdict.textContent = `So far, ${evaluations}`;
}
