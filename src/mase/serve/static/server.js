// Requests to the server. Every failure is a `Problem` with a message for the reader.

export class Problem extends Error {
  constructor(type, message) {
    super(message);
    this.name = type;
  }
}

const LOST = "The server does not answer. Is “mase serve” still running?";

async function ask(path, { method = "GET", body, signal } = {}) {
  const json = body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, { method, signal, ...json });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Problem("No connection.", LOST);
  }
  if (response.ok) return response;
  const failure = await response.json().then((answer) => answer.error).catch(() => null);
  throw new Problem(failure?.type ?? "HTTPError", failure?.message ?? `The server answered ${response.status}.`);
}

const at = (id) => `/api/explanations/${encodeURIComponent(id)}`;

/** Return the models with their states. */
export const models = async () => (await (await ask("/api/models")).json()).models;

/** Return `{labels, probabilities}` of a text, or `{labels, values}`. */
export const predict = async (model, text, signal) =>
  (await ask("/api/predictions", { method: "POST", body: { model, text }, signal })).json();

/** Begin an explanation and return its id. */
export const explain = async (request) =>
  (await (await ask("/api/explanations", { method: "POST", body: request })).json()).id;

/** Cancel an explanation. It is no failure if it has ended. */
export const cancel = (id) => ask(at(id), { method: "DELETE" }).catch(() => null);

/** Return the prediction without some units, and what the scores lead to expect. */
export const without = async (id, units, response, signal) =>
  (await ask(at(id) + "/without", { method: "POST", body: { units, response }, signal })).json();

/** Return what a language model answers without some units. */
export const regenerate = async (id, units, signal) =>
  (await (await ask(at(id) + "/answer", { method: "POST", body: { units }, signal })).json()).text;

/** Return the article of one of several responses. */
export const article = async (id, response, signal) =>
  (await ask(at(id) + "/article?" + new URLSearchParams({ response }), { signal })).text();

/** Return the address of the page of one of several responses. */
export const page = (id, response) => at(id) + "/page?" + new URLSearchParams({ response });

/** Return the explanation as a page of HTML, or as a line of JSON. */
export const text = async (id, kind, response) =>
  (await ask(kind === "html" ? page(id, response) : at(id) + "/json")).text();

/** Call a handler for each event of an explanation, and return a function that ends it. */
export function follow(id, handlers) {
  const source = new EventSource(at(id) + "/events");
  const last = new Set(["done", "failed", "cancelled"]);
  let failures = 0;
  for (const [name, handler] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => {
      failures = 0;
      if (last.has(name)) source.close();
      handler(JSON.parse(event.data));
    });
  }
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED && ++failures < 3) return; // it connects again by itself
    source.close();
    handlers.failed({ type: "No connection.", message: LOST });
  };
  return () => source.close();
}
