// What a language model is asked: texts, a query, and the answer to explain if it is not to be generated.

import { fieldsOf } from "./state.js";

const CONTEXT = "context", OTHERS = ["query", "answer"];

/** Return the names of the texts; none for a single one without a name. */
export const sourcesOf = (settings) => fieldsOf(settings).filter((name) => !OTHERS.includes(name));

/** Return the prompt with what is not blank in it, by name. */
export function promptOf(settings) {
  const names = sourcesOf(settings), sources = names.map((name) => [name, settings["text." + name]]);
  const others = OTHERS.map((name) => [name, settings["text." + name]]);
  const given = [...(names.length ? sources : [[CONTEXT, settings.text]]), ...others];
  return Object.fromEntries(given.filter(([, text]) => text?.trim()));
}

/** Return whether there is no text to find an answer in. */
export const isUnprompted = (settings) => Object.keys(promptOf(settings)).every((name) => OTHERS.includes(name));

/** Return what changes when there is one text more. */
export function oneMore(settings) {
  const names = sourcesOf(settings), first = names.length ? names : ["source 1"];
  let number = first.length + 1;
  while (first.includes(`source ${number}`)) number++;
  const named = names.length ? {} : { "text.source 1": settings.text ?? "", text: "" };
  return { ...named, fields: [...first, `source ${number}`].join(",") };
}

/** Return what changes when a text is taken away. */
export function without(settings, name) {
  const names = sourcesOf(settings).filter((other) => other !== name);
  return { fields: names.join(","), ["text." + name]: "" };
}
