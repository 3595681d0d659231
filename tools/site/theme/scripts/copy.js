// The button copies what one types: of an example neither the prompts nor the output. Material looks for this attribute.
document$.subscribe(() => {
  for (const code of document.querySelectorAll("pre > code")) {
    const typed = code.textContent.match(/^(>>>|\.\.\.|\$)( .*)?$/gm)
    if (typed) code.dataset.copy = typed.map((line) => line.replace(/^\S+ ?/, "")).join("\n")
  }
})
