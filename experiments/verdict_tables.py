"""The page and the figures of `verdict.py`."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["Pair", "write"]

HEAD = ("pairs", "keep 4 of 5", "called reliable", "of these keep 4 of 5", "of the others", "by signed score")
THRESHOLDS = (0.8, 0.85, 0.9, 0.95)
VALIDATION = "validation"
INTRODUCTION = """\
Made by `experiments/verdict.py`; [docs/reading.md](../../docs/reading.md) has the rule. A pair is one explanation and
the same one with another seed. It *keeps 4 of 5* if at least four of the five strongest words of the first are among
the five strongest of the second; in a text of four or fewer words, all of them always are. The last column is the same
for the five highest signed scores, which the rule is not about. Pairs of one text are not independent of each other.
The LSTMs read whole texts and texts cut after 8 to 30 words, the transformers (six-layer MiniLMs) only cut ones."""


@dataclass(frozen=True)
class Pair:
    """Two seeds of one explanation: what is said of the first, and how many of its five words the second keeps.

    Attributes
    ----------
    group
        Name of the part, method and number of samples.
    sampled
        Whether the scores have a sampling error; without one every pair agrees.
    reliable
        The verdict.
    stays
        The probability on which the verdict rests, and 0 if a note, a missing R2 or missing errors decide it.
    kept, of
        Of the five strongest words (fewer in a shorter text) those that are among the five of the other seed.
    kept_best
        The same for the five highest scores, in the order of `Attribution.top`.
    """

    group: tuple[str, str, int]
    n_words: int
    sampled: bool
    reliable: bool
    stays: float
    kept: int
    kept_best: int

    @property
    def of(self) -> int:
        """The number of words that are compared."""
        return min(5, self.n_words)

    @property
    def agrees(self) -> bool:
        """Whether four of five strongest words stay."""
        return self.kept >= min(4, self.of)


def share(values: Sequence[bool]) -> str:
    """Return a share of True with three decimals, and a dash if there are no values."""
    return f"{np.mean(values):.3f}" if values else "–"


def rows(many: Sequence[Pair]) -> list[str]:
    """Return the cells of a table about pairs."""
    reliable = [pair for pair in many if pair.reliable]
    careful = [pair for pair in many if not pair.reliable]
    return [
        f"{len(many):,}",
        share([pair.agrees for pair in many]),
        share([pair.reliable for pair in many]),
        share([pair.agrees for pair in reliable]),
        share([pair.agrees for pair in careful]),
        share([pair.kept_best >= min(4, pair.of) for pair in reliable]),
    ]


def table(name: str, groups: Mapping[str, Sequence[Pair]]) -> list[str]:
    """Return the lines of a table with a row for each group that has pairs."""
    lines = [f"| {name} | {' | '.join(HEAD)} |", f"|---|{'---:|' * len(HEAD)}"]
    return [*lines, *(f"| {key} | {' | '.join(rows(many))} |" for key, many in groups.items() if many), ""]


def grouped(many: Iterable[Pair], key: Callable[[Pair], str]) -> dict[str, list[Pair]]:
    """Return the pairs by what `key` says of them."""
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in many:
        groups[key(pair)].append(pair)
    return dict(groups)


def by_length(pair: Pair) -> str:
    """Return the class of length of a text."""
    return next(
        f"{low} to {high} words" for low, high in ((1, 9), (10, 15), (16, 40), (41, 999)) if pair.n_words <= high
    )


def thresholds(many: Sequence[Pair]) -> list[str]:
    """Return the table by which the threshold was chosen: how the weakest group does with each."""
    lines = ["| threshold | called reliable | of these keep 4 of 5 | in the weakest target, method, N or length |"]
    lines += ["|---:|---:|---:|---|"]
    views = (lambda p: p.group[0], lambda p: f"`{p.group[1]}`", lambda p: f"N = {p.group[2]:,}", by_length)
    for least in THRESHOLDS:
        called = [pair for pair in many if pair.stays >= least]
        groups = {name: some for key in views for name, some in grouped(called, key).items()}
        name, weakest = min(groups.items(), key=lambda item: np.mean([pair.agrees for pair in item[1]]))
        cells = (len(called) / len(many), np.mean([pair.agrees for pair in called]))
        told = f"{share([pair.agrees for pair in weakest])} ({name})"
        lines.append(f"| {least} | {cells[0]:.3f} | {cells[1]:.3f} | {told} |")
    return [*lines, ""]


def write(many: Sequence[Pair], folder: Path) -> None:
    """Write the figures of all pairs as Markdown and as JSON."""
    sampled = [pair for pair in many if pair.sampled]
    chosen = [pair for pair in sampled if pair.group[0].endswith(VALIDATION)]
    held_out = [pair for pair in sampled if not pair.group[0].endswith(VALIDATION)]
    lines = [
        "# How often a verdict is right",
        "",
        INTRODUCTION,
        "",
        "## Choosing the threshold",
        "",
        *thresholds(chosen),
    ]
    for title, some in (("Validation texts", chosen), ("Held out", held_out)):
        lines += [f"## {title}", "", *table("texts", {"all": some, **grouped(some, lambda pair: pair.group[0])})]
        lines += table("method", grouped(some, lambda pair: f"`{pair.group[1]}`"))
        lines += table("samples", grouped(some, lambda pair: f"N = {pair.group[2]:,}"))
        lines += table(
            "length", dict(sorted(grouped(some, by_length).items(), key=lambda item: int(item[0].split()[0])))
        )
    lines += ["## Every setting", ""]
    lines += table("texts, method, samples", grouped(sampled, lambda pair: "{}, `{}`, {:,}".format(*pair.group)))
    exact = grouped((pair for pair in many if not pair.sampled), lambda pair: f"`{pair.group[1]}`")
    lines += ["## Without sampling error", "", *table("method", exact)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "verdict.md").write_text("\n".join(lines), encoding="utf-8")
    settings = grouped(many, lambda pair: "{}, {}, {}".format(*pair.group))
    plain = {name: dict(zip(HEAD, rows(some), strict=True)) for name, some in settings.items()}
    (folder / "verdict.json").write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
