// Tables that are wider than the screen scroll; the keyboard must reach them.
document$.subscribe(() => setTimeout(() => {
  for (const region of document.querySelectorAll(".md-typeset__scrollwrap"))
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0
}))
