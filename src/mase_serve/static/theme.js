"use strict";
// Scheme and palette on the root of the page. This is a classic script, so that both are there before the first paint.
{
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = { scheme: "", palette: "" };
  for (const name in chosen) {
    try {
      chosen[name] = localStorage.getItem("mase." + name) ?? "";
    } catch {
      // Storage is forbidden: a choice lasts as long as the page.
    }
  }
  const apply = () => {
    root.dataset.scheme = chosen.scheme || (dark.matches ? "dark" : "light");
    root.dataset.palette = chosen.palette;
  };
  const choose = ({ target }) => {
    chosen[target.id] = target.value;
    apply();
    try {
      localStorage.setItem("mase." + target.id, target.value);
    } catch {
      // as above
    }
  };
  apply();
  dark.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    for (const name in chosen) {
      const select = document.getElementById(name);
      if (!select) continue; // at the door
      select.value = chosen[name];
      select.addEventListener("change", choose);
    }
  });
}
