// Requests to the server. Every failure is a `Problem` with a message for the reader.

export class Problem extends Error {
  constructor(type, message) {
    super(message);
    this.name = type;
  }
}

const LOST = "The server does not answer. Is “mase serve” still running?";

/** Where the token is kept: storage is separated by port, and cookies are not. */
export const TOKEN = "mase.token";

async function ask(path, { method = "GET", body, signal } = {}) {
  const headers = { authorization: `Bearer ${localStorage.getItem(TOKEN)}` };
  if (body) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, signal, headers, body: body && JSON.stringify(body) });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Problem("No connection.", LOST);
  }
  if (response.ok) return response;
  const failure = await response.json().then((answer) => answer.error).catch(() => null);
  throw new Problem(failure?.type ?? "HTTPError", failure?.message ?? `The server answered ${response.status}.`);
}

const at = (id) => `/api/explanations/${encodeURIComponent(id)}`;

/** Return the page of the workbench. */
export const page = async () => (await ask("/api/workbench")).text();

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

/** Return the explanation as a page of HTML, of one of several responses, or as a line of JSON. */
export const text = async (id, kind, response) =>
  (await ask(at(id) + (kind === "html" ? "/page?" + new URLSearchParams({ response }) : "/json"))).text();

/** Call a handler for each event of an explanation, and return a function that ends it. */
export function follow(id, handlers) {
  const ending = new AbortController();
  events(id, handlers, ending.signal);
  return () => ending.abort();
}

async function events(id, handlers, signal) {
  // After a lost connection the server tells the newest events again.
  for (let failures = 0; failures < 3; failures++) {
    try {
      const reader = (await ask(at(id) + "/events", { signal })).body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const blocks = (rest + part.value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          const [, name, data] = /^event: (\w+)\ndata: ([^]*)$/.exec(block) ?? []; // else a line that keeps it alive
          if (signal.aborted) return;
          if (!name) continue;
          failures = 0;
          queueMicrotask(() => handlers[name]?.(JSON.parse(data))); // what it throws is no lost connection
          if (["done", "failed", "cancelled"].includes(name)) return;
        }
      }
    } catch (problem) {
      if (signal.aborted) return;
      const refused = problem instanceof Problem && problem.message !== LOST;
      if (refused) return handlers.failed({ type: problem.name, message: problem.message });
    }
    await new Promise((go) => setTimeout(go, 1000));
  }
  if (!signal.aborted) handlers.failed({ type: "No connection.", message: LOST });
}
