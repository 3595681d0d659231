"use strict";
// The list of texts. Its index and its slices are scripts that call mase.index, mase.texts and mase.words, since a page that was
// opened as a file may not fetch data. Whatever they hold reaches the page through textContent and setAttribute only.
const mase = (() => {
  const nonce = document.currentScript.nonce;
  const trusted = (window.trustedTypes || { createPolicy: (name, rules) => rules }).createPolicy("mase", {
    createScriptURL: (name) => {
      if (!/^list\/(index|(texts|words)-[0-9]+)\.js$/.test(name)) throw new TypeError("not a file of this report: " + name);
      return name;
    },
  });
  const main = document.querySelector("main");
  const section = document.getElementById("texts");
  const form = section.querySelector("form");
  const list = section.querySelector("ol");
  const pattern = section.querySelector("template").content.firstElementChild;
  const [found, stop, place, earlier, later] = ["found", "stop", "place", "earlier", "later"].map((id) =>
    document.getElementById(id)
  );
  const progress = section.querySelector("progress");
  const pages = section.querySelector(".pages");
  const FLAGS = { failed: 1, wrong: 2, low: 4, note: 8, care: 16 };
  const BADGES = [[1, "failed"], [2, "wrong"], [4, "low confidence"], [8, "note"], [16, "read with care"]];
  const MISSING = main.dataset.workbench ? "Is the server still running? Reload this page." : "Was the whole folder copied?";
  // characters that nobody sees, of which a text shows most by their numbers
  const UNSEEN = /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu, SHOWN = /⟨[0-9A-F]{4,5}⟩/u;
  const PER_PAGE = 25, CACHED = 64, AT_ONCE = 4, NO_NUMBER = 0xffff, LETTERS = "abcdefghijkl";
  let all = null; // the index: one typed array per column
  let shown = { positions: [], matches: null }; // what the list has: all positions in order, and the search
  let page = 0;
  let job = 0; // number of the newest search; older ones end when they see another
  const slices = new Map(); // slices of texts or words by their name, the least recently used first
  const waiting = new Map(); // promises of those that are being loaded

  // ------------------------------------------------------------------ loading
  function load(name) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.nonce = nonce;
      script.src = trusted.createScriptURL("list/" + name + ".js");
      script.onload = () => (script.remove(), resolve());
      script.onerror = () => (script.remove(), reject(new Error("list/" + name + ".js is missing. " + MISSING)));
      document.head.append(script);
    });
  }

  // the texts or the words of a slice
  function slice(kind, number) {
    const name = kind + "-" + String(number).padStart(5, "0");
    if (slices.has(name)) return Promise.resolve(keep(name, slices.get(name)));
    if (!waiting.has(name)) {
      waiting.set(name, load(name).then(() => slices.get(name)).finally(() => waiting.delete(name)));
    }
    return waiting.get(name);
  }

  function keep(name, values) {
    slices.delete(name);
    slices.set(name, values);
    if (slices.size > CACHED) slices.delete(slices.keys().next().value);
    return values;
  }

  function take(kind) {
    return (number, values) => void keep(kind + "-" + String(number).padStart(5, "0"), values);
  }

  function bytes(coded) {
    return Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0));
  }

  function pairs(coded) {
    const low = bytes(coded);
    return Uint16Array.from({ length: low.length / 2 }, (_, i) => low[2 * i] + 256 * low[2 * i + 1]);
  }

  function takeIndex(index) {
    all = {
      starts: index.starts, rows: index.rows, classes: index.classes, kept: index.kept,
      class: pairs(index.class), probability: pairs(index.probability), fit: bytes(index.fit),
      flags: bytes(index.flags),
    };
    fillForm();
    show();
  }

  // number of the slice that has a position, or a row (bounds: first position or row of each slice)
  function sliceOf(bounds, value) {
    let low = 0, high = all.rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (bounds[middle] <= value) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  async function at(kind, position) {
    const number = sliceOf(all.starts, position);
    return (await slice(kind, number))[position - all.starts[number]];
  }

  // ------------------------------------------------------------------ what is asked: the form and the address
  function asked() {
    const address = location.hash.startsWith("#texts?") ? location.hash.slice(7) : "";
    const values = new URLSearchParams(address);
    const only = values.getAll("only").filter((name) => name in FLAGS);
    return { q: values.get("q") || "", class: values.get("class") || "", sort: values.get("sort") || "", only,
      row: values.has("row") ? Number(values.get("row")) : null };
  }

  function fillForm() {
    const counts = new Map(), flagged = {};
    for (const code of all.class) counts.set(code, (counts.get(code) || 0) + 1);
    for (const flags of all.flags) for (const name in FLAGS) if (flags & FLAGS[name]) flagged[name] = (flagged[name] || 0) + 1;
    const codes = [...counts.keys()].filter((code) => code !== NO_NUMBER).sort((a, b) => counts.get(b) - counts.get(a));
    for (const code of codes) {
      const option = document.createElement("option");
      option.value = String(code);
      option.textContent = all.classes[code] + " (" + counts.get(code).toLocaleString("en") + ")";
      form.elements.class.append(option);
    }
    for (const box of form.elements.only) {
      box.parentElement.querySelector(".count").textContent = (flagged[box.value] || 0).toLocaleString("en");
    }
  }

  function fromForm() {
    const values = new URLSearchParams();
    for (const name of ["q", "class", "sort"]) if (form.elements[name].value) values.set(name, form.elements[name].value);
    for (const box of form.elements.only) if (box.checked) values.append("only", box.value);
    return "#texts?" + values;
  }

  function toForm(query) {
    for (const name of ["q", "class", "sort"]) if (form.elements[name].value !== query[name]) form.elements[name].value = query[name];
    for (const box of form.elements.only) box.checked = query.only.includes(box.value);
  }

  // ------------------------------------------------------------------ filter, sort and search
  function candidates(query) {
    const wanted = query.only.reduce((sum, name) => sum | FLAGS[name], 0);
    const code = query.class === "" ? -1 : Number(query.class);
    const chosen = [];
    for (let i = 0; i < all.flags.length; i++) {
      if ((all.flags[i] & wanted) === wanted && (code < 0 || all.class[i] === code)) chosen.push(i);
    }
    return chosen;
  }

  // positions in the asked order; texts without the number are last
  function sorted(positions, sort) {
    const column = sort === "fit" ? all.fit : all.probability;
    const none = sort === "fit" ? 0xff : NO_NUMBER;
    const key = (i) => (column[i] === none ? Infinity : sort === "sure" ? -column[i] : column[i]);
    if (!["fit", "sure", "unsure"].includes(sort)) return positions;
    return positions.sort((a, b) => (key(a) === key(b) ? a - b : key(a) - key(b)));
  }

  // what finds a query in a composed text: as whole words if it is in quotation marks, or else anywhere, with whatever is
  // unseen between its letters
  function matcher(query) {
    const quoted = /^"(.+)"$/s.exec(query);
    const words = composed(quoted ? quoted[1] : query.replace(UNSEEN, "").trim() || query).trim().split(/\s+/);
    const between = quoted ? "" : "(?:" + UNSEEN.source + "|" + SHOWN.source + ")*";
    const escaped = words.map((word) => Array.from(word, letter).join(between)).join(quoted ? "\\s*" : "\\s+");
    return new RegExp(quoted ? whole(words.join(""), escaped) : escaped, "iu");
  }

  function letter(character) {
    if (/i/i.test(character)) return "[iİ]"; // which are one letter to summaries, but not to the flag i
    return character.replace(/[\\^$.*+?()[\]{}|\/]/, "\\$&");
  }

  function composed(text) {
    return text.normalize("NFC");
  }

  // Letters beside a word make it another one, but for those of scripts without spaces. So do marks, the tone of an emoji,
  // and joiners.
  function whole(word, escaped) {
    const unspaced = ["Han", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tale", "Talu", "Lana", "Tavt", "Ahom"];
    const letter = "(?![" + unspaced.map((script) => "\\p{scx=" + script + "}").join("") + "])[\\p{L}\\p{N}_]";
    const starts = new RegExp("^" + letter, "u").test(word), ends = new RegExp(letter + "\\p{M}*$", "u").test(word);
    const before = starts ? letter + "[\\p{M}\\u200c\\u200d]*" : "\\u200d";
    const after = "[\\p{M}\\p{Emoji_Modifier}\\u200d]" + (ends ? "|\\u200c?" + letter : "");
    return "(?<!" + before + ")" + escaped + "(?!" + after + ")";
  }

  async function search(query, mine) {
    const chosen = candidates(query), matches = matcher(query.q.trim()), hits = [];
    const bySlice = new Map();
    for (const position of chosen) {
      const number = sliceOf(all.starts, position);
      if (!bySlice.has(number)) bySlice.set(number, []);
      bySlice.get(number).push(position);
    }
    const numbers = [...bySlice.keys()];
    let next = 0, done = 0, drawn = 0;
    stop.hidden = progress.hidden = false;
    const worker = async () => {
      while (next < numbers.length && job === mine) {
        const number = numbers[next++];
        const texts = await slice("texts", number);
        for (const position of bySlice.get(number)) {
          const text = texts[position - all.starts[number]];
          const searched = [text.text, text.id, text.answer ? text.answer.text : ""];
          if (searched.some((one) => matches.test(composed(one)))) hits.push(position);
        }
        progress.value = ++done / numbers.length;
        if (job === mine && performance.now() - drawn > 250) {
          drawn = performance.now();
          found.textContent = hits.length.toLocaleString("en") + " found so far";
          await draw(sorted(hits.sort((a, b) => a - b), query.sort), mine, matches);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (job !== mine) return;
    end(sorted(hits.sort((a, b) => a - b), query.sort), mine, matches, counted(hits.length) + " with " + query.q);
  }

  function counted(n) {
    return n.toLocaleString("en") + (n === 1 ? " text" : " texts");
  }

  async function end(positions, mine, matches, message) {
    stop.hidden = progress.hidden = true;
    found.textContent = message;
    await draw(positions, mine, matches);
  }

  async function show() {
    if (!all) return;
    const query = asked(), mine = ++job;
    toForm(query);
    page = 0;
    stop.hidden = progress.hidden = true;
    try {
      if (query.row !== null) await showRow(query.row, mine);
      else if (query.q.trim()) await search(query, mine);
      else await end(sorted(candidates(query), query.sort), mine, null, counted(candidates(query).length));
    } catch (error) {
      if (job !== mine) return;
      job++; // ends the other loads of this search
      stop.hidden = progress.hidden = true;
      found.textContent = error.message;
    }
  }

  async function showRow(row, mine) {
    const number = sliceOf(all.rows, row);
    const texts = await slice("texts", number);
    const index = texts.findIndex((text) => text.row === row);
    const positions = index < 0 ? [] : [all.starts[number] + index];
    await end(positions, mine, null, index < 0 ? "There is no such text" : "One text");
    const details = list.querySelector("details");
    if (details) details.open = true;
  }

  // ------------------------------------------------------------------ draw
  async function draw(positions, mine, matches) {
    const last = Math.max(0, Math.ceil(positions.length / PER_PAGE) - 1);
    page = Math.min(page, last);
    const here = positions.slice(page * PER_PAGE, (page + 1) * PER_PAGE);
    const texts = await Promise.all(here.map((position) => at("texts", position)));
    if (job !== mine) return;
    shown = { positions, matches };
    const before = [...list.querySelectorAll("details[open]")].map((details) => details.dataset.position);
    list.replaceChildren(...texts.map((text, i) => item(text, here[i], matches, before.includes(String(here[i])))));
    pages.hidden = last === 0;
    place.textContent = (page + 1).toLocaleString("en") + " of " + (last + 1).toLocaleString("en");
    earlier.disabled = page === 0;
    later.disabled = page === last;
  }

  function item(text, position, matches, open) {
    const node = pattern.cloneNode(true), get = (name) => node.querySelector("." + name);
    const details = node.querySelector("details");
    details.dataset.position = position;
    get("id").textContent = text.id;
    node.querySelector("bdi").textContent = text.answer ? beginning(text.answer.text, 100) : text.prediction || "";
    get("chance").textContent = text.chance || "";
    for (const [flag, name] of BADGES) if (all.flags[position] & flag) {
      addTo(get("badges"), "span", "badge", flag === FLAGS.wrong ? "wrong, right is " + text.label : name);
    }
    get("snippet").replaceChildren(...snippet(text.text, matches));
    details.addEventListener("toggle", () => details.open && fill(node, text, position), { once: true });
    if (open) details.open = true;
    return node;
  }

  function snippet(given, matches) {
    const text = composed(given), match = matches && matches.exec(text);
    if (!match) return [beginning(text, 200)];
    const start = boundary(text, match.index - 30), after = match.index + match[0].length;
    const mark = document.createElement("mark");
    mark.textContent = match[0];
    return [(start ? "…" : "") + text.slice(start, match.index), mark, beginning(text.slice(after), 160)];
  }

  function beginning(text, length) {
    return text.slice(0, boundary(text, length));
  }

  // the last place up to another one that is not inside of what is seen as one character, such as an emoji
  function boundary(text, place) {
    if (place <= 0 || place >= text.length) return Math.min(Math.max(place, 0), text.length);
    return Intl.Segmenter ? new Intl.Segmenter().segment(text).containing(place).index : place;
  }

  function addTo(parent, tag, name, content) {
    const element = document.createElement(tag);
    element.className = name;
    element.textContent = content;
    parent.append(element);
  }

  function fill(node, text, position) {
    const body = node.querySelector(".body"), content = body.querySelector(".body > .text");
    answered(body.querySelector(".answer"), text.answer);
    content.textContent = text.text;
    content.classList.toggle("plain", text.unsigned);
    const facts = []; // each a list of texts, and of names from outside
    if (text.r2 !== null) facts.push(["R² " + text.r2]);
    if (text.halves !== null) facts.push(["split-half agreement " + text.halves]);
    const contrast = text.against === null ? [] : [" rather than ", isolated(text.against)];
    if (text.response !== null) facts.push([text.link + " of ", isolated(text.response), ...contrast]);
    if (text.queries !== null) facts.push([text.queries.toLocaleString("en") + " evaluations"]);
    all.kept.forEach((name, i) => text.kept[i] !== null && facts.push([isolated(name), ": ", isolated(text.kept[i])]));
    if (text.size > 20000) facts.push(["first 20,000 of " + text.size.toLocaleString("en") + " characters"]);
    body.querySelector(".facts").replaceChildren(...facts.flatMap((fact, i) => (i ? [" · ", ...fact] : fact)));
    const link = body.querySelector(".workbench");
    if (link) link.hidden = !(link.href = workbenchOf(text));
    for (const note of text.notes) addTo(body, "p", "warn", note[1]);
    if (text.error !== null) addTo(body, "p", "warn", text.error + ": " + text.message);
    const readout = body.querySelector(".readout");
    at("words", position).then(
      (words) => {
        if (!words.words) return;
        content.replaceChildren(...shaded(text.text, words, text.unsigned));
        readout.textContent = "Point at a word to see its score, or go from word to word with ← and →.";
      },
      (error) => (readout.textContent = error.message)
    );
    content.addEventListener("pointerover", (event) => tell(event.target, readout));
    content.addEventListener("focusin", (event) => tell(event.target, readout));
    content.addEventListener("keydown", (event) => walk(event, content));
  }

  // the answer to a prompt with the numbers of its sources, and the sources
  function answered(place, answer) {
    if (!answer) return void place.remove();
    const [said, cited] = [place.querySelector(".said"), place.querySelector(".cited")];
    said.textContent = answer.text;
    if (!answer.sources.length) addTo(said, "sup", "unsourced", "no source");
    answer.sources.forEach((source, i) => {
      addTo(said, "sup", "", "[" + (i + 1) + "]");
      const line = document.createElement("li");
      line.append("[" + (i + 1) + "] ");
      if (source.place) {
        const named = document.createElement("strong");
        named.append(isolated(source.place));
        line.append(named, " ");
      }
      line.append(isolated(source.text), " ");
      addTo(line, "span", "soft", source.score);
      cited.append(line);
    });
  }

  // a text from outside, whose direction is its own
  function isolated(text) {
    const element = document.createElement("bdi");
    element.textContent = text;
    return element;
  }

  // where a text is explained again; "" if it is not known as the model got it
  function workbenchOf(text) {
    const given = text.given === "" ? text.text : text.given;
    const named = (name, value) => (value === null ? "" : "&" + name + "=" + encodeURIComponent(value));
    const classes = named("target", text.response) + named("against", text.against);
    return given ? main.dataset.workbench + classes + named("text", given) : "";
  }

  function number(value, scale) {
    const size = Math.abs(value * scale.unit);
    if (scale.decimals === null) return size.toExponential(1);
    const fixed = size.toFixed(scale.decimals);
    return fixed < 10000 ? fixed : Number(fixed).toLocaleString("en", { minimumFractionDigits: scale.decimals });
  }

  // the words of a text as elements; places are counted in characters, of which some are two units of a string
  function shaded(text, scale, unsigned) {
    const letters = Array.from(text), words = scale.words.split(" ").map(Number), parts = [];
    let from = 0;
    for (let i = 0; i < words.length; i += 5) {
      const [start, length, score, error, shade] = words.slice(i, i + 5);
      const word = document.createElement(!shade ? "u" : unsigned || score > 0 ? "b" : "i");
      if (shade) word.setAttribute(LETTERS[shade - 1], "");
      word.textContent = letters.slice(start, start + length).join("");
      word.title = (score < 0 ? "−" : score > 0 && scale.signs ? "+" : "") + number(score, scale) + (error < 0 ? "" : "±" + number(error, scale));
      word.tabIndex = -1;
      parts.push(letters.slice(from, start).join(""), word);
      from = start + length;
    }
    return [...parts, letters.slice(from).join("")];
  }

  function tell(word, readout) {
    if (word.title) readout.replaceChildren(isolated(word.textContent), "  " + word.title.replace("±", " ± "));
  }

  function walk(event, content) {
    const words = [...content.querySelectorAll("[title]")], at = words.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? 0 : at - 1, Home: 0, End: words.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey || !words[to]) return;
    event.preventDefault();
    words[to].focus();
  }

  // ------------------------------------------------------------------ events
  let typing = 0;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => location.replace(fromForm()), event.target.name === "q" ? 350 : 0);
  });
  stop.addEventListener("click", () => {
    job++;
    stop.hidden = progress.hidden = true;
    found.textContent += ", stopped";
    redraw();
  });
  function redraw() {
    const mine = ++job;
    stop.hidden = progress.hidden = true;
    draw(shown.positions, mine, shown.matches).catch((error) => (found.textContent = error.message));
  }
  earlier.addEventListener("click", () => (page--, redraw()));
  later.addEventListener("click", () => (page++, redraw()));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.live");
    if (link && link.hash === location.hash) follow(); // the address does not change, so there is no other event
  });
  window.addEventListener("hashchange", follow);
  function follow() {
    if (!location.hash.startsWith("#texts?")) return;
    if (!form.contains(document.activeElement)) {
      section.scrollIntoView();
      section.querySelector("h2").focus({ preventScroll: true });
    }
    show();
  }
  document.documentElement.classList.add("script");
  window.addEventListener("load", () => load("index").catch((error) => (found.textContent = error.message)));
  return { index: takeIndex, texts: take("texts"), words: take("words") };
})();
