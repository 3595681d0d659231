"use strict";
// Scheme and palette. This is a classic script, so that both are there before the first paint.
{
  const root = document.documentElement;
  const stored = (name) => {
    try {
      return localStorage.getItem("mase." + name) ?? "";
    } catch {
      return ""; // storage is forbidden: the page looks as the system says
    }
  };
  const apply = (name, value) => (value ? (root.dataset[name] = value) : delete root.dataset[name]);
  for (const name of ["scheme", "palette"]) apply(name, stored(name));
  document.addEventListener("DOMContentLoaded", () => {
    for (const name of ["scheme", "palette"]) {
      const select = document.getElementById(name);
      select.value = stored(name);
      select.addEventListener("change", () => {
        apply(name, select.value);
        try {
          localStorage.setItem("mase." + name, select.value);
        } catch {
          // it lasts as long as the page
        }
      });
    }
  });
}
