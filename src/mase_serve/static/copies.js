// An explanation to copy: as Python, as a command, as JSON and as a page.

import { part } from "./parts.js";
import * as server from "./server.js";

const NAMES = { python: "Python", command: "command", json: "JSON", html: "HTML" };

export class Copies {
  /** @param {HTMLElement} root the panel */
  constructor(root) {
    [this.root, this.said] = [part(root, "copies"), part(root, "copied")];
    this.root.addEventListener("click", (event) => this.#copy(event.target.dataset.copy));
    part(root, "download").addEventListener("click", () => this.#save());
  }

  /** Offer copies of the explanation of an id; those that are known have their content by name. */
  open(id, known) {
    [this.id, this.known] = [id, known];
    this.root.hidden = false;
  }

  /** The page shows this response, as the reader sees it; JSON has all of them. */
  show(response) {
    this.response = response;
    this.said.textContent = "";
  }

  async #save() {
    try {
      const page = await server.text(this.id, "html", this.response);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([page], { type: "text/html" }));
      link.download = "explanation.html";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (error) {
      this.said.textContent = `Not saved: ${error.message}`;
    }
  }

  async #copy(kind) {
    if (!kind) return;
    try {
      const content = this.known[kind] ?? (await server.text(this.id, kind, this.response));
      if (!navigator.clipboard) throw new Error("browsers allow it only on a loopback address");
      await navigator.clipboard.writeText(content);
      this.said.textContent = `Copied as ${NAMES[kind]}.`;
    } catch (error) {
      this.said.textContent = `Not copied: ${error.message}`;
    }
  }
}
