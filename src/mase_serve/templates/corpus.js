"use strict";
// Ask how far the page of the corpus is, and load it when it is there. The fragment of the address stays.
const said = document.getElementById("said"), bar = document.querySelector("progress");
const reading = said.textContent;
async function ask() {
  try {
    const answer = await fetch("share");
    if (!answer.ok) throw new Error(answer.statusText);
    const share = (await answer.json()).share;
    if (share === null) return location.reload();
    if (share) bar.value = share; // at 0 it waits until another corpus is read
    if (said.textContent !== reading) said.textContent = reading;
  } catch {
    said.textContent = "The server does not answer. Is it still running?";
  }
  setTimeout(ask, 400);
}
setTimeout(ask, 400);
