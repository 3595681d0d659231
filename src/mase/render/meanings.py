"""What the scores of an attribution mean, in words."""

import math
from collections.abc import Iterable

from mase.attribution import Attribution
from mase.render.palette import are_estimates, has_intervals, is_unsigned

__all__ = ["link_meaning", "meaning", "meaning_of_link", "said"]

_CONTRAST_MEANINGS = {
    "margin": "margin: the log-odds of one against the other; +0.7 doubles the odds",
    "log-probability": "log-probability: +0.7 doubles the ratio of both probabilities",
}
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
        return meaning_of_link(attribution.link, contrast=True)
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
