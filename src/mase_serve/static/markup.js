// The one place where HTML of the server becomes elements. A page that requires trusted types allows this policy alone.

const policy = globalThis.trustedTypes?.createPolicy("mase", { createHTML: (html) => html });

/** Return the elements of a piece of HTML that the server rendered and escaped. */
export function markup(html) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(html) : html;
  return template.content;
}
