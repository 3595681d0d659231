"""The registration of the confirmation: what it compares, and what counts as won, level and lost."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Literal

from mase.methods import Configuration, parse
from mase.statistics import Difference
from mase_paper.experiments.results import Outcomes

__all__ = ["STANDINGS", "Registration", "Standing", "registration"]
Standing = Literal["won", "ahead", "level", "open", "behind", "lost"]
STANDINGS: Mapping[Standing, str] = {
    "won": "the interval is above 0, and the difference is significant after Holm's correction",
    "ahead": "the interval is above 0, but not after the correction",
    "level": "the interval contains 0, and its lower end is above the margin",
    "open": "the interval contains 0, and its lower end is not above the margin: too few texts to say",
    "behind": "the interval is below 0, but not after the correction",
    "lost": "the interval is below 0, and the difference is significant after the correction",
}

# Compared as well, in a run of its own: the page of the registration says so.
_SECOND = Configuration("mase-rationale")


@dataclass(frozen=True, slots=True)
class Registration:
    """What was fixed before the run; `confirmation.toml` describes the fields."""

    split: str
    text_seed: int
    seed: int
    methods: tuple[Configuration, ...]
    margin: float
    significance: float
    skip: Mapping[str, int]
    n_texts: Mapping[str, int]

    def numbers(self, target: str) -> range:
        """Return the numbers of a target's texts."""
        return range(self.skip[target], self.n_texts[target])

    def departures(self, target: str, configuration: Configuration, outcomes: Outcomes) -> Iterator[str]:
        """Yield in what the records of a method on a target are not those that were registered."""
        made = (outcomes.header["data"]["split"], outcomes.header["text_seed"], configuration.seed)
        if made != (self.split, self.text_seed, self.seed):
            yield "split {}, text seed {}, seed {}".format(*made)
        if replace(configuration, seed=0) not in (*self.methods, _SECOND):
            yield f"the method `{configuration}`"
        if outcomes.numbers[-1] not in self.numbers(target):
            yield f"more texts of {target}"

    def standing(self, lead: Difference, adjusted: float) -> Standing:
        """Return what a lead over another method counts as.

        Parameters
        ----------
        lead
            By how much the first method is better, whichever direction of the measure is better.
        adjusted
            The p-value of the lead after Holm's correction.
        """
        if lead.low > 0:
            return "won" if adjusted <= self.significance else "ahead"
        if lead.high < 0:
            return "lost" if adjusted <= self.significance else "behind"
        return "level" if lead.low > -self.margin else "open"


@cache
def registration() -> Registration:
    """Return the registration in `confirmation.toml`."""
    content = tomllib.loads(files(__package__).joinpath("confirmation.toml").read_text(encoding="utf-8"))
    return Registration(**content | {"methods": tuple(map(parse, content["methods"]))})
