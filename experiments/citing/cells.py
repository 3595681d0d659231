"""What `compare.py` measured, as cells: one measure of one task at one number of evaluations."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

__all__ = [
    "ALL",
    "BUDGETS",
    "KS",
    "LARGEST",
    "MEASURES",
    "OURS",
    "Cell",
    "Difference",
    "cells",
    "difference",
    "read",
    "verdict",
]

OURS = "mase-cite"
# The largest drop, where all sets of k units have been evaluated by one method or another.
LARGEST = "largest possible"
KS = ("1", "3", "5")
MEASURES = {k: f"drop, k = {k}" for k in KS} | {"datamodel": "datamodelling score"}
BUDGETS, TASKS = (16, 32, 64, 128), ("summary", "question", "sentiment")
ALL = "all three"
Values = Mapping[str, float]  # from the id of a prompt to a value


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean of paired differences over n prompts, with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One measure of one task at one number of evaluations.

    Attributes
    ----------
    values
        For each method its values by prompt; without the methods that could not run.
    reasons
        Why a method could not run, and on how many prompts.
    """

    task: str
    units: str
    n: int
    measure: str
    values: Mapping[str, Values]
    reasons: Mapping[str, Counter[str]]

    @property
    def share(self) -> float:
        """The drops of mase as a share of the largest possible ones; NaN where these are not known."""
        ours, largest = self.values.get(OURS, {}), self.values.get(LARGEST, {})
        both = ours.keys() & largest.keys()
        return sum(ours[one] for one in both) / sum(largest[one] for one in both) if both else float("nan")

    def against(self, rival: str) -> Difference | None:
        """Return the mean of mase minus that of a rival on the prompts that both explain; None if there are none."""
        return difference(self.values.get(OURS, {}), self.values.get(rival, {}))


def difference(first: Values, second: Values) -> Difference | None:
    """Return the mean of the first minus the second on the prompts of both."""
    both = sorted(first.keys() & second.keys())
    if len(both) < 2:
        return None
    differences = np.array([first[one] - second[one] for one in both])
    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / np.sqrt(len(both))
    half = float(stdtrit(len(both) - 1, 0.975)) * error
    return Difference(mean, mean - half, mean + half, len(both))


def verdict(found: Difference) -> str:
    """Return "ahead" or "behind" if the interval excludes 0, and "level" otherwise."""
    return "ahead" if found.low > 0 else "behind" if found.high < 0 else "level"


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the records of all prompts in a folder, without the scores of the units."""
    found = []
    for path in sorted(folder.glob("*.json")):
        prompt = json.loads(path.read_text(encoding="utf-8"))
        for record in prompt["records"]:
            record.pop("scores", None)
            for measure, value in record.get("drops", {}).items():
                record["drops"][measure] = round(value, 4)
            if "datamodel" in record:
                record["datamodel"] = round(record["datamodel"], 4)
        found.append(prompt | {"best": best(path.with_suffix(".rows.jsonl"))})
    return found


def best(path: Path) -> dict[str, float]:
    """Return the largest drop without k units for each k for which all sets of k units have been evaluated."""
    _, *rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    totals = {row["kept"]: sum(row["log_p"]) for row in rows}
    p = len(rows[0]["kept"])
    without = {k: [total for kept, total in totals.items() if kept.count("0") == k] for k in map(int, KS)}
    drops = {k: totals["1" * p] - min(found) for k, found in without.items() if len(found) == comb(p, k)}
    return {str(k): round(drop, 4) for k, drop in drops.items()}


def cells(prompts: Sequence[Mapping[str, Any]]) -> Iterator[Cell]:
    """Yield the cells of the comparison."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for prompt in prompts:
        groups[prompt["units"], prompt["task"]].append(prompt)
        groups[prompt["units"], ALL].append(prompt)
    for units, task in (
        (units, task) for units in ("sentence", "word") for task in (*TASKS, ALL) if (units, task) in groups
    ):
        group = groups[units, task]
        for n in BUDGETS:
            for measure in MEASURES:
                values: dict[str, dict[str, float]] = defaultdict(dict)
                reasons: dict[str, Counter[str]] = defaultdict(Counter)
                for prompt in group:
                    if measure in prompt["best"]:
                        values[LARGEST][prompt["id"]] = prompt["best"][measure]
                    for record in (one for one in prompt["records"] if one["n"] == n):
                        if "reason" in record:
                            reasons[record["method"]][re.sub(r"\d+", "more", record["reason"])] += 1
                        else:
                            value = record["datamodel"] if measure == "datamodel" else record["drops"][measure]
                            values[record["method"]][prompt["id"]] = value
                yield Cell(task, units, n, measure, values, reasons)
