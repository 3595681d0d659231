// Where two explanations differ.

import { error95 } from "./numbers.js";

const LISTED = 5;
const LEAST = 0.1; // of the largest score: words below it are not marked in a text either
const LARGEST = 4e6; // steps of an alignment: a fraction of a second

/**
 * Return which units of two attributions differ, and by which rule.
 *
 * Units with the same place in the same text are compared, and otherwise those that an alignment of the words puts
 * beside each other. If both explain the same number, two scores differ when their 95 % intervals have no value in
 * common, and by a tenth of the largest score or more. Otherwise scores have no common unit, and a word differs when it is among the five
 * strongest of one only.
 */
export function differences(a, b) {
  const pairs = aligned(a, b);
  const [first, second] = [a.responses[0], b.responses[0]];
  const same = ["link", "name", "against"].every((name) => first[name] === second[name]);
  const comparable = same && estimates(first) && estimates(second);
  const differ = comparable ? apart(first, second) : listedOnce(first, second);
  const units = { a: new Set(), b: new Set() }, other = { a: new Map(), b: new Map() };
  for (const [i, j] of pairs) {
    other.a.set(i, j);
    other.b.set(j, i);
    if (differ(i, j)) units.a.add(i), units.b.add(j);
  }
  const alone = {
    a: new Set([...a.units.keys()].filter((unit) => !other.a.has(unit))),
    b: new Set([...b.units.keys()].filter((unit) => !other.b.has(unit))),
  };
  return { units, other, alone, comparable, n: pairs.length };
}

function estimates(response) {
  return response.standard_errors.length > 0 && response.standard_errors.every((error) => error !== null);
}

function apart(first, second) {
  const least = LEAST * Math.max(0, ...[...first.scores, ...second.scores].map(Math.abs));
  const error = (i, j) => error95(first.standard_errors[i]) + error95(second.standard_errors[j]);
  return (i, j) => Math.abs(first.scores[i] - second.scores[j]) > Math.max(least, error(i, j));
}

function listedOnce(first, second) {
  const [one, two] = [strongest(first), strongest(second)];
  return (i, j) => one.has(i) !== two.has(j);
}

/** Return the units of the largest scores; one of score 0 has no effect, however few there are. */
function strongest({ scores }) {
  const scored = [...scores.keys()].filter((unit) => scores[unit]);
  return new Set(scored.sort((i, j) => Math.abs(scores[j]) - Math.abs(scores[i])).slice(0, LISTED));
}

/** Return pairs of units that stand for each other. */
function aligned(a, b) {
  if (a.document.every((field, place) => field.text === b.document[place]?.text)) {
    const key = ({ field, start, end }) => `${field} ${start} ${end}`;
    const places = new Map(b.units.map((unit, j) => [key(unit), j]));
    return a.units.flatMap((unit, i) => (places.has(key(unit)) ? [[i, places.get(key(unit))]] : []));
  }
  return longestCommon(a.units.map((unit) => unit.text), b.units.map((unit) => unit.text));
}

/** Return the places of a longest common subsequence of two lists of words. */
function longestCommon(one, two) {
  const pairs = [], tail = [];
  let start = 0, [m, n] = [one.length, two.length];
  while (start < m && start < n && one[start] === two[start]) pairs.push([start, start++]);
  while (m > start && n > start && one[m - 1] === two[n - 1]) tail.unshift([--m, --n]);
  const width = n - start + 1;
  if ((m - start) * width > LARGEST) return [...pairs, ...tail];
  const lengths = new Uint16Array((m - start + 1) * width);
  const at = (i, j) => (i - start) * width + (j - start);
  for (let i = m - 1; i >= start; i--) {
    for (let j = n - 1; j >= start; j--) {
      const without = Math.max(lengths[at(i + 1, j)], lengths[at(i, j + 1)]);
      lengths[at(i, j)] = one[i] === two[j] ? lengths[at(i + 1, j + 1)] + 1 : without;
    }
  }
  for (let i = start, j = start; i < m && j < n; ) {
    if (one[i] === two[j]) pairs.push([i++, j++]);
    else if (lengths[at(i + 1, j)] >= lengths[at(i, j + 1)]) i++;
    else j++;
  }
  return [...pairs, ...tail];
}
