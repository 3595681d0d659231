"""Numbers in words and digits, rounded so that they never say more than is known."""

import re
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

__all__ = ["amount", "at_least", "counted", "duration", "percent", "percent_of_all", "share", "unbroken"]

_FOUR_DIGITS = Context(prec=4, rounding=ROUND_HALF_UP)
_LARGEST_WHOLE = 10**21  # from here on JavaScript writes an exponent


def percent(probability: float) -> str:
    """Return a probability in percent, never rounded to 0 or 100.

    Examples
    --------
    >>> percent(0.9731), percent(0.99999), percent(0.0002)
    ('97.3 %', '> 99.9 %', '< 0.1 %')
    """
    if probability > 0.999:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < probability < 0.001 else f"{100 * probability:.1f} %"


def amount(value: float) -> str:
    """Return a value with four digits, or all those before the point. Zeros at the end say that it was rounded.

    `numbers.js` writes values in the same way.

    Examples
    --------
    >>> amount(3.14159), amount(-0.5), amount(0.99996), amount(123456.7), amount(1e-7)
    ('3.142', '−0.5', '1.000', '123,457', '1e-7')
    """
    size = abs(value)
    rounded = _FOUR_DIGITS.create_decimal(size)
    if 10_000 <= rounded < _LARGEST_WHOLE:
        number = f"{Decimal(size).quantize(Decimal(1), ROUND_HALF_UP):,}"
    else:
        number = str(Decimal(f"{size:.4g}") if float(rounded) == size else rounded).replace("E", "e")
    return ("−" if value < 0 else "") + number


def percent_of_all(share: float) -> str:
    """Return a share of counted things in percent: 100 % if it is all of them, never rounded to 0 or 100 otherwise.

    Examples
    --------
    >>> percent_of_all(1.0), percent_of_all(0.9999), percent_of_all(0.0)
    ('100 %', '> 99.9 %', '0.0 %')
    """
    return "100 %" if share == 1 else percent(share)


def share(value: float) -> str:
    """Return a share or correlation with two decimals, never rounded up to 1.

    Examples
    --------
    >>> share(0.97), share(0.999), share(-0.2)
    ('0.97', '> 0.99', '−0.20')
    """
    return "> 0.99" if 0.995 <= value < 1 else f"{value:.2f}".replace("-", "−")


def at_least(value: float) -> float:
    """Return a share or correlation rounded down to two decimals, so that it is a lower bound.

    Examples
    --------
    >>> at_least(0.9996), at_least(0.57), at_least(-0.001), at_least(1.0)
    (0.99, 0.57, -0.01, 1.0)
    """
    return float(Decimal(str(value)).quantize(Decimal("0.01"), ROUND_FLOOR))


def duration(seconds: float) -> str:
    """Return a time with a suitable unit.

    Examples
    --------
    >>> duration(0.0312), duration(2.25), duration(312), duration(119.7), duration(100_000)
    ('31 ms', '2.2 s', '5 min 12 s', '2 min 0 s', '27 h 47 min')
    """
    if round(1000 * seconds) < 1000:
        return f"{1000 * seconds:.0f} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min"


def counted(n: int, what: str) -> str:
    """Return a number with a noun in singular or plural.

    Examples
    --------
    >>> counted(1, "word"), counted(1001, "evaluation")
    ('1 word', '1,001 evaluations')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def unbroken(line: str) -> str:
    """Return a line in which no percent sign, and no bound, is separated from its number at the end of a line.

    Examples
    --------
    >>> unbroken("with a probability > 99 %")
    'with a probability >\\xa099\\xa0%'
    """
    return re.sub(r"(?<=[<>]) (?=\d)|(?<=\d) (?=%)", "\u00a0", line)
