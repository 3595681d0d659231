"""The sentences about a result: facts, meanings, numbers and the legend.

The names of the marks are ``for`` and ``against``, ``strong`` (unsigned scores), ``arbitrary`` (scores that are not
estimates), ``insignificant for`` and ``insignificant against`` (the interval includes 0), and ``unread`` (cut off).
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

from markupsafe import Markup

from mase.attribution.attribution import Attribution
from mase.attribution.evidence import Changed
from mase.attribution.response import LISTED, Note, Prediction, Response
from mase.defaults import is_integer
from mase.render.marks import (
    are_estimates,
    has_intervals,
    inline,
    is_by_score,
    is_unsigned,
    isolated,
    scale_of,
    shortened_to_width,
    strongest,
)

_CONTRAST_MEANINGS = {
    "margin": "margin: the log-odds of one against the other; +0.7 doubles the odds",
    "log-probability": "log-probability: +0.7 doubles the ratio of both probabilities",
}

_SEPARATE = "margin: by how much the log-odds of one are above those of the other; +0.7 doubles the ratio of both odds"
# By whether the classes are separate questions; of old results it is not known.
_MARGINS = {
    True: "margin: the log-odds of the class against its absence; +0.7 doubles the odds",
    False: "margin: log-odds against the most probable other class; +0.7 doubles the odds",
    None: "margin: the log-odds of the class; +0.7 doubles the odds",
}

_LINK_MEANINGS = {
    "logit": "logit: the model's raw score of the class",
    "log-probability": "log-probability: +0.7 doubles the probability",
    "mean-log-probability": "mean-log-probability: the log-probability per token",
    "value": "value: the number that the model returns for the class",
}

_LOG_ODDS = "log-odds: +0.7 doubles the odds of the answer"
_ROUNDING = 1e-4


def link_meaning(attribution: Attribution) -> str | None:
    """Return what the name of the link means; None for a probability or value, and for scores that are no effects."""
    answered = attribution.answer is not None
    if is_unsigned(attribution) or (attribution.prediction.values and not answered):
        return None
    if attribution.responses[0].against is not None:
        separate = attribution.link == "margin" and attribution.prediction.multilabel
        return _SEPARATE if separate else meaning_of_link(attribution.link, contrast=True)
    if answered and attribution.link == "value":
        return f"{inline(attribution.target)}: how far a new answer of the model agrees with the explained one"
    if answered:
        return _LOG_ODDS if attribution.link == "logit" else _LINK_MEANINGS.get(attribution.link)
    if attribution.link == "margin":
        return _MARGINS[attribution.prediction.multilabel]
    if attribution.link == "logit" and _is_log_odds(attribution):
        return "logit: the log-odds of the class; +0.7 doubles the odds"
    return meaning_of_link(attribution.link, contrast=False)


def said(attribution: Attribution, title: str) -> str:
    """Return what the numbers beside words are, in the words of somebody who reads them for the first time.

    `title` is what is explained, fit for display.
    """
    noun = attribution.noun
    if not are_estimates(attribution):
        return "scores that are not estimates"
    if is_unsigned(attribution):
        number = f"how much each {noun} matters to {title}"
    else:
        link, meant = attribution.link, link_meaning(attribution) or ""
        number = {"probability": f"the probability of {title}", "value": title}.get(link, title)
        doubles = f"; +0.7 {meant.partition('+0.7 ')[2].partition(' of ')[0]}" if "+0.7 " in meant else ""
        number = f"how much each {noun} raises {number}{doubles}"
    return number + ("; ± is its 95 % interval" if has_intervals(attribution) else "")


def meaning_of_link(link: str, *, contrast: bool) -> str | None:
    """Return what the name of a link means, of any model with classes; None for a probability."""
    if contrast:
        return _CONTRAST_MEANINGS.get(link, f"{link}: the difference between both")
    return _MARGINS[None] if link == "margin" else _LINK_MEANINGS.get(link)


def _is_log_odds(attribution: Attribution) -> bool:
    """Return whether the explained number is the log-odds of the class, as the logit of a sigmoid is."""
    probabilities, response = attribution.prediction.probabilities, attribution.response
    for window in attribution.windows[:1]:  # pooled numbers need not be related as those of the model are
        probabilities, response = window.prediction.probabilities, window.of(attribution.target).value
    probability = probabilities.get(attribution.target, 0.0)
    log_odds = math.log(probability / (1 - probability)) if 0 < probability < 1 else math.inf
    return abs(response - log_odds) < _ROUNDING * max(1.0, abs(log_odds))


def meaning(attributions: Iterable[Attribution]) -> list[str]:
    """Return what the scores of these attributions mean, with one sentence per kind of score."""
    sentences = [
        sentence for a in attributions for sentence in (_score_meaning(a), link_meaning(a)) if sentence is not None
    ]
    return [f"{sentence[0].upper()}{sentence[1:]}." for sentence in dict.fromkeys(sentences)]


def _score_meaning(attribution: Attribution) -> str:
    noun = attribution.noun
    if not are_estimates(attribution):
        return (
            f"the scores of this method have no standard errors, so it is not known how much they say about the {noun}s"
        )
    if is_unsigned(attribution):
        return (
            f"a score says how much the {noun} matters, but not whether it increases or decreases the explained number"
        )
    design, space = attribution.method.get("design"), attribution.method.get("space")
    if not isinstance(design, dict) or not isinstance(space, dict):
        return f"a score says how much the {noun} increases the explained number, as the method named below measures it"
    masked = "masked" if attribution.answer is None else "left out"
    change = f"much the explained number increases when the {noun} is kept instead of {masked}"
    if space.get("name") != "token-mask":
        change = f"fast the explained number increases with the {noun}'s share in the input"
    return f"a score says how {change}, on average over the perturbed copies of the text that the model evaluated"


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


def stated(prediction: Prediction) -> str:
    """Return the probability of the predicted class in percent, or the value that the model returns."""
    number = prediction.probability
    return amount(prediction.values[prediction.label]) if number is None else percent(number)


def top_classes(attribution: Attribution, k: int) -> list[tuple[str, str, float]]:
    """Return the k most probable classes, or the first k values, and the target if it is not among them.

    Each has its label, its probability in percent or its value, and the length of its bar: the probability, or 0.
    """
    prediction = attribution.prediction
    ranked = sorted(prediction.probabilities.items(), key=lambda pair: -pair[1])
    rows = [(label, percent(probability), probability) for label, probability in ranked]
    rows += [(label, amount(value), 0.0) for label, value in prediction.values.items()]
    target = [row for row in rows[k:] if row[0] == attribution.target]
    return [(inline(label), number, bar) for label, number, bar in rows[:k] + target]


def unit(attribution: Attribution) -> str:
    """Return the unit of the scores: the name of the explained number, in words."""
    if not are_estimates(attribution):
        return "not estimates, so without an interval"
    if not attribution.signed:  # a share or a norm, and no change of that number
        return f"importance for the {_number(attribution)}"
    measure = " in log-odds" if attribution.link == "margin" else ""
    return f"{_number(attribution)}{measure}"


def _number(attribution: Attribution) -> str:
    """Return the name of the explained number and what it is of, such as "margin of pos rather than neg"."""
    if attribution.link == "value" and attribution.prediction.values:
        return titled(attribution)
    return f"{link_name(attribution)} of {titled(attribution)}"


def link_name(attribution: Attribution) -> str:
    """Return the name of the explained number: that of the link, but log-odds for the logit of an answer."""
    return "log-odds" if attribution.answer is not None and attribution.link == "logit" else attribution.link


def titled(attribution: Attribution) -> str:
    """Return what the first response explains, on one line and cut short: a part of an answer is named by its text."""
    first = attribution.responses[0]
    names = [
        isolated(shortened_to_width(inline(name), _LONGEST_TITLE))
        for name in (first.name, first.against)
        if name is not None
    ]
    return " rather than ".join(names)


def measured(attribution: Attribution) -> str:
    """Return the unit of the scores, and what their intervals are; exact scores have none."""
    return unit(attribution) + (", ± 95 % interval (sampling)" if has_intervals(attribution) else "")


def quality_facts(attribution: Attribution) -> list[str]:
    """Return how well the scores fit the model, in a few words each."""
    fit, first = attribution.fit, attribution.responses[0]
    halves = [] if fit.split_half is None else [f"split-half {share(fit.split_half)}"]
    return [*explained(first), *(["exact"] if first.exact else []), *halves]


def cost_facts(attribution: Attribution) -> list[str]:
    """Return what the scores cost, in a few words each."""
    fit = attribution.fit
    gradients = [counted(fit.n_gradients, "gradient")] if fit.n_gradients else []
    return [f"the model was asked {counted(fit.n_queries, 'time')}", *gradients, duration(fit.seconds)]


def explained(response: Response) -> list[str]:
    """Return how much the scores explain, of all rows and of those left out of the fit; nothing if it is unknown."""
    shares = (("R²", response.r2), ("held out", response.r2_held_out))
    return [f"{name} {share(value)}" for name, value in shares if value is not None]


def evidence_facts(attribution: Attribution, name: Callable[[str], str] = inline) -> list[str]:
    """Return what the model predicts without the best words, and from them alone; nothing if it was not asked.

    That nothing matters is all there is to say of a text. `name` makes words and labels fit for display.
    """
    evidence = attribution.evidence
    if evidence is None or not evidence.without or not attribution.verdict.matters:
        return []

    def words(units: Sequence[int]) -> str:
        return _listed([f"“{name(attribution.units[unit].text)}”" for unit in units])

    tested = _tested(attribution)
    is_value = tested.link == "value" and tested.responses[0].against is None

    def predicted(changed: Changed) -> str:
        if changed.probability is None:
            own = f"{name(tested.target)} {amount(changed.response)}"
            same = changed.label == tested.target
            return amount(changed.response) if not is_value else own if same else f"{name(changed.label)} ({own})"
        return f"{name(changed.label)} {percent(changed.probability)}"

    without, only, flip = evidence.without[-1], evidence.only[-1], evidence.flip_set
    facts, n = [], len(without.units)
    if flip is not None:
        kind = "the smallest set" if flip.smallest else "a small set"
        other = name(flip.label) + ("" if flip.probability is None else f" {percent(flip.probability)}")
        facts.append(f"without {words(flip.units)}: {other}, {kind} that flips it")
    if n < len(attribution.units):  # else they are the whole text
        best = words(without.units) if n <= _MOST_NAMED else _best(attribution, n, name)
        alone = f"with {'it' if n == 1 else 'them'} alone: {predicted(only)}"
        number = "" if is_value or only.probability is not None else f" ({_number(tested)})"
        facts.append(f"without {best}: {predicted(without)}; {alone}{number}")
    return facts


def interaction_line(attribution: Attribution, name: Callable[[str], str] = inline) -> list[str]:
    """Return a line with the strongest pairs of units that matter together; nothing if none does.

    `name` makes words fit for display.
    """
    scale, units = scale_of(attribution), attribution.units
    pairs = [
        f"“{name(units[pair.units[0]].text)}” and “{name(units[pair.units[1]].text)}” {scale.signed(pair.score)}"
        + (f" ± {scale.error(pair.half_width)}" if pair.half_width else "")
        for pair in attribution.interactions[:_MOST_NAMED]
    ]
    return [f"act together: {', '.join(pairs)}"] if pairs else []


def effect_lines(attribution: Attribution, name: Callable[[str], str] = inline) -> list[str]:
    """Return a line for each further effect, with the units of largest effect; nothing if none has one.

    These effects are of a unit beside others, so a single unit has none. `name` makes words fit for display.
    """
    if len(attribution.units) == 1:
        return []
    lines = []
    for effect in (item for item in attribution.responses[0].effect_names if item in _WHERE):
        result = attribution.effect(effect)
        scale = scale_of(result)
        same = set(zip(attribution.spans, map(scale.signed, attribution.scores), strict=True))
        words = [
            f"“{name(shortened_to_width(inline(word.text), _LONGEST_NAME))}” {scale.interval(word)}"
            for word in strongest(result, _MOST_NAMED)
            if word.score and ((word.start, word.end), scale.signed(word.score)) not in same
        ]
        lines += [f"{_WHERE[effect].format(attribution.noun)}: {', '.join(words)}"] if words else []
    return lines


def zoomed_facts(attribution: Attribution) -> list[str]:
    """Return which units are explained word by word, and the strongest words in them; nothing if none are."""
    result = attribution.zoomed
    if result is None:
        return []
    zoom = attribution.method.get("zoom")
    n = min(zoom, len(attribution.units)) if is_integer(zoom) else len(attribution.units)
    scale = scale_of(result)
    words = ", ".join(f"“{isolated(word.text)}” {scale.signed(word.score)}" for word in strongest(result, LISTED))
    which = f"the strongest {attribution.noun}" if n == 1 else f"the {n} strongest {attribution.noun}s"
    return [
        f"word by word in {which}, with the rest in place",
        f"{words}; {counted(result.fit.n_queries, 'evaluation')}",
    ]


def _best(attribution: Attribution, n: int, name: Callable[[str], str]) -> str:
    """Return what the n best units are. The strongest ones, which displays list, need not be for the target."""
    tested = _tested(attribution)
    if is_unsigned(tested) or not is_by_score(tested):
        return f"the {n} strongest {tested.noun}s"
    return f"the {n} {tested.noun}s most for {name('the answer' if tested.answer is not None else tested.title)}"


def _tested(attribution: Attribution) -> Attribution:
    """Return the attribution with the response first whose units the evidence is about."""
    named = attribution.evidence.response if attribution.evidence else None
    return attribution if named is None else attribution.of(named)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# Codes of notes that tell something and warn of nothing.
TOLD = frozenset({"answers-without", "requests"})


def other_notes(attribution: Attribution) -> list[Note]:
    """Return the notes that the verdict does not give as reasons."""
    reasons = attribution.verdict.reasons
    return [note for note in attribution.own_notes if note.message not in reasons]


def other_responses(attribution: Attribution) -> list[str]:
    """Return a line for each further response: its name, its value for the text, and its strongest words.

    Beyond eight, the last line says how many more there are. The parts of an answer are shown in their own way.
    """
    parts = {part.response for part in attribution.answer.parts} if attribution.answer else set()
    others = [response for response in attribution.responses[1:] if response.name not in parts]
    lines = []
    for response in others[:_FACTS_MOST_OTHERS]:
        result = attribution.of(response.name)
        scale = scale_of(result)
        words = ", ".join(
            f"“{isolated(word.text)}” {scale.signed(word.score)}" for word in strongest(result, _MOST_NAMED)
        )
        care = "" if result.verdict.reliable else " (read with care)"
        lines.append(f"{titled(result)}: {response.link} {amount(response.value)}; {words}{care}")
    left = len(others) - len(lines)
    return [*lines, f"and {left:,} more"] if left else lines


def cut_off(attribution: Attribution) -> str | None:
    """Return how many tokens the model read; None if it read all."""
    cut = attribution.truncation
    if cut is None:
        return None
    part = "last" if cut.kept == "end" else "first"
    return f"the model read only the {part} {cut.n_kept:,} of {cut.n_total:,} tokens"


def origin(attribution: Attribution) -> list[str]:
    """Return the provenance of the scores: model, method with its main settings, seed, version."""
    a = attribution
    checksum = inline(str(a.model.get("sha256") or ""))[:12]
    facts = [f"model {inline(str(a.model.get('name')))}" + (f" (sha256 {checksum})" if checksum else "")]
    facts += [f"method {inline(str(a.method.get('name')))}"]
    parts = [(part, a.method.get(part)) for part in _PARTS]
    facts += [f"{part} {inline(str(value.get('name')))}" for part, value in parts if isinstance(value, dict)]
    facts += [f"{name} {inline(str(a.method[key]))[:40]}" for key, name in _SETTINGS.items() if key in a.method]
    version = a.versions.get("mase-xai")
    return [*facts, f"seed {a.seed}", *([f"mase {inline(str(version))}"] if version else [])]


_LONGEST_TITLE = 80

# Cells of the name of a unit, as in the list of the strongest ones.
_LONGEST_NAME = 28
_MOST_NAMED = 3

# Where a further effect is measured.
_WHERE = {"kept": "beside the other strong {}s", "removed": "without the other strong {}s"}
_FACTS_MOST_OTHERS = 8
_PARTS = ("space", "design", "estimator")
_SETTINGS = {"sigma": "σ", "n_samples": "n"}


def heading(marks: frozenset[str], noun: str = "word") -> Markup:
    """Return the heading of a text with these marks on its units; the name of the target follows it."""
    nouns = f"{noun.capitalize()}s"
    if "strong" in marks:
        return Markup(f"{nouns} that <b d>matter</b> to")
    if "arbitrary" in marks:
        return Markup("Scores that are not estimates, for")
    sides = [tag for side, tag in _SIDES.items() if side in marks]
    return Markup(f"{nouns} {' and '.join(sides)}") if sides else Markup(f"No {noun} for or against")


def legend(marks: frozenset[str], explained: str = "class") -> Markup:
    """Return paragraphs that explain these marks and no others; nothing if there are none.

    `explained` is a word for what has a probability, such as a class, or "value", "agreement" of answers, or "number".
    """
    numbers = {
        "value": "value",
        "agreement": "agreement of new answers with this one",
        "number": "explained number",
    }
    number = numbers.get(explained, f"probability of the {explained}")
    keys = [f"{_KEYS[mark]} {number}" for mark in _KEYS if mark in marks]
    insignificant = [tag for mark, tag in _INSIGNIFICANT.items() if mark in marks]
    if insignificant:
        words = ("not underlined",) if len(insignificant) == 1 else ("not", "underlined")
        shown = " ".join(f"<{tag} l>{word}</{tag}>" for tag, word in zip(insignificant, words, strict=True))
        keys.append(
            f"{shown}: the 95 % interval includes 0 (not significant); words without colour score less than a tenth of "
            "the strongest"
        )
    keys += [_UNREAD] if "unread" in marks else []
    spans = " ".join(f"<span>{key}</span>" for key in keys)
    plain = " ".join(f"<span>{_PLAIN[mark].format(explained)}</span>" for mark in _PLAIN if mark in marks)
    paragraphs = [("'legend plain'", plain), ("legend", spans)]
    return Markup("".join(f"<p class={name}>{content}</p>" for name, content in paragraphs if content))


def how_to_read(attributions: Sequence[Attribution], *, hints: bool) -> Iterator[str]:
    """Yield sentences on how to read shades and numbers; `hints` says whether every word has a tooltip."""
    nouns = {attribution.noun for attribution in attributions}
    noun = nouns.pop() if len(nouns) == 1 else "unit"
    if any(attribution.answer is not None for attribution in attributions):
        are_values = all(attribution.link == "value" for attribution in attributions)
        raises = "raises the explained number" if are_values else "makes its odds at least ten times as high"
        yield (
            "A number in brackets leads from a part of an answer to one of its sources, and a letter leads back. Point "
            f"at a part, or choose its letter, and the sources are shaded for it alone. A source of a part {raises}, "
            "beyond the sampling error of all units together; the three strongest are named."
        )
    if any(attribution.scores.any() for attribution in attributions):
        yield (
            f"Shades are relative to the strongest {noun} of each text; {noun}s below a tenth of its score are not "
            "marked."
        )
    intervals = any(map(has_intervals, attributions))
    if any(attribution.word_scores for attribution in attributions):
        width = " and half the width of its 95 % interval" if intervals else ""
        yield f"Point at a {'' if hints else 'marked '}{noun} to see its score{width}."
    if intervals:
        yield "The intervals cover only the error that comes from evaluating a limited number of perturbed copies."
    yield from _of_several(attributions, noun)
    yield from _of_fit(attributions, noun)


def _of_several(attributions: Sequence[Attribution], noun: str) -> Iterator[str]:
    """Yield sentences on what units do together, and beside others."""
    for effect, (name, copies, those_of_scores) in _EFFECTS.items():
        if any(effect_lines(a) for a in attributions if effect in a.responses[0].effects):
            yield (
                f"“{name.format(noun)}” is how much a {noun} increases the explained number in copies that {copies}; "
                f"the scores are of copies that {those_of_scores}."
            )
    if any(attribution.interactions for attribution in attributions):
        yield (
            f"Two {noun}s that “act together” increase it by that much more than the sum of what each "
            "does without the other."
        )


def _of_fit(attributions: Sequence[Attribution], noun: str) -> Iterator[str]:
    """Yield sentences on the numbers that say how well the scores fit."""
    if any(attribution.r2 is not None for attribution in attributions):
        yield (
            "R² is the share of the variance of the explained number that the scores account for: 1 is all of it, 0 or "
            "less none."
        )
    if any(attribution.r2_held_out is not None for attribution in attributions):
        yield (
            "Held out is R² of perturbed copies that were left out of the fit, without what differs between rounds of "
            "copies."
        )
    if any(attribution.fit.split_half is not None for attribution in attributions):
        yield (
            f"Split-half says how well two halves of the sample agree on the {LISTED} strongest {noun}s (on half of "
            f"the {noun}s of a short text); 1 is perfect."
        )


_FEW_OTHERS = "mask most of the other strong ones"
_LEGEND_MOST_OTHERS = "keep most of the other strong ones and mask the weak ones"

# By further effect: its name, the copies that it is of, and those that the scores are of then.
_EFFECTS = {
    "kept": ("Beside the other strong {}s", _LEGEND_MOST_OTHERS, _FEW_OTHERS),
    "removed": ("Without the other strong {}s", _FEW_OTHERS, _LEGEND_MOST_OTHERS),
}

_SIDES = {"for": "<b d>for</b>", "against": "<i d>against</i>"}

_KEYS = {
    "for": "<b e>solid line</b>: increases the",
    "against": "<i e>dashed line</i>: decreases the",
}

_INSIGNIFICANT = {"insignificant for": "b", "insignificant against": "i"}
_UNREAD = "<s>grey</s>: not read by the model"

_PLAIN = {
    "strong": "<b e>shaded</b>: matters to the {}, in either direction",
    "arbitrary": "<b e>shaded</b>: has a high score, without a standard error",
}


def window_lines(attribution: Attribution) -> list[str]:
    """Return what the scores of a text in windows mean, and a line per window; nothing for other texts."""
    if not attribution.windows:
        return []
    n, noun = len(attribution.windows), attribution.noun
    lines = [
        f"read in {n} windows: a score is the effect of a {noun} on the explained number of one window, that in which "
        f"it is farthest from a cut; the predictions are pooled ({attribution.method.get('pooling')})"
    ]
    for number, window in enumerate(attribution.windows, 1):
        response = window.of(attribution.target)
        fit = "" if response.r2 is None else f", R² {share(response.r2)}"
        lines.append(
            f"window {number}, {isolated(window.field)} {window.start:,} to {window.end:,}: "
            f"{isolated(window.prediction.label)} {stated(window.prediction)}, {attribution.link} "
            f"{amount(response.value)}{fit}{', decides' if response.decides else ''}"
        )
    return lines
