// Numbers as the other pages of mase write them.

/** Return a probability in percent, never rounded to 0 or 100. */
export function percent(probability) {
  if (probability > 0.999) return "> 99.9\u00a0%";
  return probability > 0 && probability < 0.001 ? "< 0.1\u00a0%" : fixed(100 * probability, 1) + "\u00a0%";
}

/** Return a number that is not negative with so many decimals. Of two that are as near it is the even one, as in Python. */
function fixed(size, decimals) {
  const rounded = size.toFixed(decimals), isTie = (size * 2 ** (decimals + 1)) % 2 === 1;
  return isTie && rounded.at(-1) % 2 ? (size - 0.5 / 10 ** decimals).toFixed(decimals) : rounded;
}

/** Return a value with four digits, or all those before the point. Zeros at the end say that it was rounded. */
export function amount(value) {
  const size = Math.abs(value), rounded = size.toPrecision(4);
  const sign = value < 0 ? "−" : "";
  if (rounded >= 10_000 && rounded < 1e21) return sign + Math.round(size).toLocaleString("en");
  return sign + (Number(rounded) === size ? String(size) : rounded);
}

/** Return a share with two decimals, never rounded up to 1. */
export function share(value) {
  return value >= 0.995 && value < 1 ? "> 0.99" : (value < 0 ? "−" : "") + fixed(Math.abs(value), 2);
}

/** Return a number with its sign and two decimals, with more if it is small, and with fewer if it is large. */
export function signed(value) {
  const size = Math.abs(value);
  const number = size >= 100 ? amount(size) : size && size < 0.1 ? size.toPrecision(2) : size.toFixed(2);
  return (Number(number) === 0 ? "" : value < 0 ? "−" : "+") + number;
}

/** Return a time in a suitable unit. */
export function duration(seconds) {
  return seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(1)} s`;
}

/** Return half the width of the 95 % interval of a score. */
export function error95(standardError) {
  return 1.959964 * standardError;
}
