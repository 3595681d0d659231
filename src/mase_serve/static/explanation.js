// One explanation at a time: beginning another one cancels the one before.

import * as server from "./server.js";

export class Explanation {
  #run = 0;
  #end = null;

  /** The id of the explanation that began last; null before the server gave it. */
  id = null;

  /** Ask for an explanation. The handlers are those of the events of the server; `failed` also gets its refusals. */
  async start(request, handlers) {
    this.cancel();
    const run = this.#run;
    let id;
    try {
      id = await server.explain(request);
    } catch (error) {
      if (run === this.#run) handlers.failed({ type: error.name, message: error.message });
      return;
    }
    if (run !== this.#run) {
      server.cancel(id);
      return;
    }
    this.id = id;
    const ending = (handler) => (data) => {
      this.#end = null;
      handler(data);
    };
    this.#end = server.follow(id, {
      ...handlers,
      done: ending(handlers.done),
      failed: ending(handlers.failed),
      cancelled: ending(handlers.cancelled),
    });
  }

  /** Cancel what is under way. No handler is called any more. */
  cancel() {
    this.#run++;
    if (this.#end) {
      this.#end();
      server.cancel(this.id);
    }
    this.#end = this.id = null;
  }
}
