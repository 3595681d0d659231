// Numbers as the other pages of mase write them.

/** Return a probability in percent, never rounded to 0 or 100. */
export function percent(probability) {
  if (probability > 0.999) return "> 99.9\u00a0%";
  return probability > 0 && probability < 0.001 ? "< 0.1\u00a0%" : (100 * probability).toFixed(1) + "\u00a0%";
}

/** Return a number with its sign and two decimals, and with more if it is small. */
export function signed(value) {
  const size = Math.abs(value);
  const number = size && size < 0.1 ? size.toPrecision(2) : size.toFixed(2);
  return (Number(number) === 0 ? "" : value < 0 ? "−" : "+") + number;
}

/** Return half the width of the 95 % interval of a score, or null if it has none. */
export function error95(standardError) {
  return standardError === null ? null : 1.959964 * standardError;
}
