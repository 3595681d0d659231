"""Texts of the displays: prediction, unit of the scores, fit, truncation and provenance."""

from collections.abc import Callable, Sequence

from mase.attribution import LISTED, Attribution, Changed, Note, Prediction, Response
from mase.render.cells import shortened
from mase.render.numbers import amount, counted, duration, percent, share
from mase.render.palette import are_estimates, has_intervals, is_by_score, is_unsigned, scale_of, strongest
from mase.render.pieces import inline, isolated
from mase.scalars import is_integer

__all__ = [
    "cost_facts",
    "cut_off",
    "effect_lines",
    "evidence_facts",
    "explained",
    "interaction_line",
    "link_name",
    "measured",
    "origin",
    "other_notes",
    "other_responses",
    "quality_facts",
    "stated",
    "titled",
    "top_classes",
    "unit",
    "zoomed_facts",
]


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
        isolated(shortened(inline(name), _LONGEST_TITLE)) for name in (first.name, first.against) if name is not None
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

    `name` makes words and labels fit for display.
    """
    evidence = attribution.evidence
    if evidence is None or not evidence.without:
        return []

    def words(units: Sequence[int]) -> str:
        return _listed([f"“{name(attribution.units[unit].text)}”" for unit in units])

    tested = _tested(attribution)
    is_value = tested.link == "value" and tested.responses[0].against is None

    def predicted(changed: Changed) -> str:
        if changed.probability is None:
            return f"{name(changed.label)} {amount(changed.response)}" if is_value else amount(changed.response)
        return f"{name(changed.label)} {percent(changed.probability)}"

    without, only, flip = evidence.without[-1], evidence.only[-1], evidence.flip_set
    facts, n = [], len(without.units)
    if flip is not None:
        kind = "the smallest set" if flip.smallest else "a small set"
        other = f"{name(flip.label)} {percent(flip.probability)}"
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
    for effect in (one for one in attribution.responses[0].effects if one in _WHERE):
        found = attribution.effect(effect)
        scale = scale_of(found)
        same = set(zip(attribution.spans, map(scale.signed, attribution.scores), strict=True))
        words = [
            f"“{name(shortened(inline(word.text), _LONGEST_NAME))}” {scale.interval(word)}"
            for word in strongest(found, _MOST_NAMED)
            if word.score and ((word.start, word.end), scale.signed(word.score)) not in same
        ]
        lines += [f"{_WHERE[effect].format(attribution.noun)}: {', '.join(words)}"] if words else []
    return lines


def zoomed_facts(attribution: Attribution) -> list[str]:
    """Return which units are explained word by word, and the strongest words in them; nothing if none are."""
    found = attribution.zoomed
    if found is None:
        return []
    zoom = attribution.method.get("zoom")
    n = min(zoom, len(attribution.units)) if is_integer(zoom) else len(attribution.units)
    scale = scale_of(found)
    words = ", ".join(f"“{isolated(word.text)}” {scale.signed(word.score)}" for word in strongest(found, LISTED))
    which = f"the strongest {attribution.noun}" if n == 1 else f"the {n} strongest {attribution.noun}s"
    return [
        f"word by word in {which}, with the rest in place",
        f"{words}; {counted(found.fit.n_queries, 'evaluation')}",
    ]


def _best(attribution: Attribution, n: int, name: Callable[[str], str]) -> str:
    """Return what the n best units are. The strongest ones, which displays list, need not be for the target."""
    tested = _tested(attribution)
    if is_unsigned(tested) or not is_by_score(tested):
        return f"the {n} strongest {tested.noun}s"
    return f"the {n} {tested.noun}s most for {name('the answer' if tested.answer is not None else tested.target)}"


def _tested(attribution: Attribution) -> Attribution:
    """Return the attribution with the response first whose units the evidence is about."""
    named = attribution.evidence.response if attribution.evidence else None
    return attribution if named is None else attribution.of(named)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


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
    for response in others[:_MOST_OTHERS]:
        found = attribution.of(response.name)
        scale = scale_of(found)
        words = ", ".join(
            f"“{isolated(word.text)}” {scale.signed(word.score)}" for word in strongest(found, _MOST_NAMED)
        )
        care = "" if found.verdict.reliable else " (read with care)"
        lines.append(f"{titled(found)}: {response.link} {amount(response.value)}; {words}{care}")
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
_MOST_OTHERS = 8
_PARTS = ("space", "design", "estimator")
_SETTINGS = {"sigma": "σ", "n_samples": "n"}
