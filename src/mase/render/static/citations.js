// Links between an answer and its sources, where the address of the page holds something else, or the article is in a
// shadow root, in which an address finds nothing.

const TARGET = "target";

/** Follow the links of answers inside of an element, and leave the address as it is. */
export function followCitations(root) {
  root.addEventListener("click", (event) => {
    const link = event.target.closest?.(".cites a[href^='#']");
    if (!link) return;
    event.preventDefault();
    const to = root.querySelector(link.getAttribute("href"));
    for (const other of root.querySelectorAll(`.${TARGET}`)) other.classList.remove(TARGET);
    to.classList.add(TARGET);
    const folded = to.closest("details");
    if (folded) folded.open = true;
    (to.matches("a") ? to : to.querySelector("a"))?.focus({ preventScroll: true });
    to.scrollIntoView({ block: "nearest" });
  });
}
