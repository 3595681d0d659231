// The way into the workbench: the token leaves the address, and the page is asked for with it.

import { TOKEN, page } from "./server.js";

const token = new URLSearchParams(location.search).get("token");
if (token) {
  localStorage.setItem(TOKEN, token);
  history.replaceState(null, "", "/" + location.hash);
}
try {
  const policy = globalThis.trustedTypes?.createPolicy("mase-page", { createHTML: (html) => html });
  const html = await page();
  document.open();
  document.write(policy ? policy.createHTML(html) : html);
  document.close();
} catch (problem) {
  document.querySelector("[role=status]").textContent = problem.message;
}
