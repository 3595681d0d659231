"""What is said about a text beside its words: prediction, fit, what was cut off, where the numbers come from."""

import math
from collections.abc import Iterable

from mase.attribution import Attribution
from mase.render.palette import has_intervals, is_unsigned
from mase.render.pieces import inline

__all__ = [
    "counted",
    "cut_off",
    "duration",
    "fit_facts",
    "gloss",
    "meaning",
    "measured",
    "origin",
    "percent",
    "top_classes",
    "unit",
]


def percent(probability: float) -> str:
    """Return a probability in percent, never rounded to certainty.

    Examples
    --------
    >>> percent(0.9731), percent(0.99999), percent(0.0002)
    ('97.3 %', '> 99.9 %', '< 0.1 %')
    """
    if probability > 0.999:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < probability < 0.001 else f"{100 * probability:.1f} %"


def duration(seconds: float) -> str:
    """Return a time in its natural unit.

    Examples
    --------
    >>> duration(0.0312), duration(2.25), duration(312), duration(119.7)
    ('31 ms', '2.2 s', '5 min 12 s', '2 min 0 s')
    """
    if round(1000 * seconds) < 1000:
        return f"{1000 * seconds:.0f} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def counted(n: int, what: str) -> str:
    """Return how many there are of something.

    Examples
    --------
    >>> counted(1, "word"), counted(1001, "evaluation")
    ('1 word', '1,001 evaluations')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def top_classes(attribution: Attribution, k: int) -> list[tuple[str, float]]:
    """Return the k most probable classes with their probabilities, and the target if it is not among them."""
    by_label = attribution.prediction.probabilities
    ranked = sorted(by_label.items(), key=lambda pair: -pair[1])
    rest = [(label, chance) for label, chance in ranked[k:] if label == attribution.target]
    return [(inline(label), chance) for label, chance in ranked[:k] + rest]


def unit(attribution: Attribution) -> str:
    """Return the number that the scores are parts of, in words."""
    if not has_intervals(attribution):
        return "estimates of nothing, so without an interval"
    measure = " in log-odds" if attribution.link == "margin" else ""
    return f"{attribution.link} of {inline(attribution.target)}{measure}"


def measured(attribution: Attribution) -> str:
    """Return what the scores measure, and of what their intervals are."""
    return unit(attribution) + (", ± 95 % interval (sampling)" if has_intervals(attribution) else "")


def gloss(attribution: Attribution) -> str | None:
    """Return what that number is for who does not know its name; None for a probability, or for nothing at all."""
    if not has_intervals(attribution):
        return None
    chances = attribution.prediction.probabilities
    chance = chances.get(attribution.target, 0.0)
    separate = (
        abs(sum(chances.values()) - 1) > _ROUNDING
    )  # questions of their own: a class has no rival but its absence
    odds = math.log(chance / (1 - chance)) if 0 < chance < 1 else math.inf
    if attribution.link == "margin" and separate:
        return "margin: the class against its absence; +0.7 doubles the odds"
    if attribution.link == "logit" and abs(attribution.response - odds) < _ROUNDING * max(1.0, abs(odds)):
        return "logit: the log-odds of the class; +0.7 doubles the odds"
    return _GLOSSES.get(attribution.link)


def meaning(attributions: Iterable[Attribution]) -> list[str]:
    """Return what the scores of these attributions are, a sentence for each kind."""
    many = list(attributions)
    found = [sentence for a in many for sentence in (_what_a_score_says(a), gloss(a)) if sentence is not None]
    return [f"{sentence[0].upper()}{sentence[1:]}." for sentence in dict.fromkeys(found)]


def _what_a_score_says(attribution: Attribution) -> str:
    if not has_intervals(attribution):
        return (
            "a score of this method estimates nothing and says nothing about its word: it is what a method has to beat"
        )
    if is_unsigned(attribution):
        return "a score says how much the word matters, whether it speaks for the class or against it"
    design, space = attribution.method.get("design"), attribution.method.get("space")
    if not isinstance(design, dict) or not isinstance(space, dict):
        return "a score says how much the word speaks for the class, as the method named below measures it"
    change = "much the explained number rises when the word is put back"
    if space.get("name") != "token-mask":
        change = "fast the explained number rises with the word's share in the input"
    return f"a score says how {change}, on average over the copies of the text that the model was asked about"


def fit_facts(attribution: Attribution) -> list[str]:
    """Return how well the scores fit and what they cost, in a few words each."""
    fit = attribution.fit
    facts = [] if attribution.r2 is None else [f"R² {_share(attribution.r2)}"]
    facts += [] if fit.split_half is None else [f"split-half {_share(fit.split_half)}"]
    facts += [counted(fit.n_queries, "evaluation")]
    facts += [counted(fit.n_gradients, "gradient")] if fit.n_gradients else []
    return [*facts, duration(fit.seconds)]


def cut_off(attribution: Attribution) -> str | None:
    """Return what the model did not read, None if it read all."""
    cut = attribution.truncation
    if cut is None:
        return None
    part = "last" if cut.kept == "end" else "first"
    return f"the model read only the {part} {cut.n_kept:,} of {cut.n_total:,} tokens"


def origin(attribution: Attribution) -> list[str]:
    """Return where the numbers come from: model, method with its main settings, seed, version."""
    a = attribution
    checksum = a.model.get("sha256")
    facts = [f"model {inline(str(a.model.get('name')))}" + (f" (sha256 {str(checksum)[:12]})" if checksum else "")]
    facts += [f"method {inline(str(a.method.get('name')))}"]
    parts = [(part, a.method.get(part)) for part in _PARTS]
    facts += [f"{part} {inline(str(value.get('name')))}" for part, value in parts if isinstance(value, dict)]
    facts += [f"{name} {inline(str(a.method[key]))[:40]}" for key, name in _SETTINGS.items() if key in a.method]
    version = a.versions.get("mase-xai")
    return [*facts, f"seed {a.seed}", *([f"mase {inline(str(version))}"] if version else [])]


_GLOSSES = {
    "margin": "margin: the class against its best alternative; +0.7 doubles the odds",
    "logit": "logit: the model's raw score of the class",
    "log-probability": "log-probability: +0.7 doubles the probability",
}
_ROUNDING = 1e-4
_PARTS = ("space", "design", "estimator")
_SETTINGS = {"sigma": "σ", "n_samples": "n"}


def _share(value: float) -> str:
    """Return a share or correlation with two decimals, never rounded up to 1."""
    return "> 0.99" if 0.995 <= value < 1 else f"{value:.2f}"
