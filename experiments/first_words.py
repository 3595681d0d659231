"""Compare scores whose first words stand for rows about the whole text with those of `mase`.

Searches ask what each word adds to those that are masked already. They choose the first three words better than `mase`
(docs/results.md). Here the first word stands for rows that mask nothing else, the second one for rows that mask the
first, and so on, ever less up to the seventh word. From there on words stand for what they stand for in `mase`. A fifth
of the rows of later rounds mask the first words and now and then one of the next. Candidates of `ordered.py` are
compared, too. Every text goes to RECORDS as a line of JSON for each candidate as soon as it is done, so that an
interrupted run continues where it stopped. Targets may run side by side:

    python experiments/first_words.py DATA_DIR lstm-reuters --n-texts 200
    python experiments/first_words.py DATA_DIR bert-imdb --n-texts 30 --precision bfloat16

Without a target, the page `experiments/first_words/first_words.md` is written:

    python experiments/first_words.py DATA_DIR
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from complement import KS
from effects import Candidate, arguments, method_of
from ordered import Ordered
from scipy.special import expit

import mase
from mase.arrays import Floats
from mase.designs.focused import by_rank
from mase.method import Method
from mase.methods import resolve
from mase.metrics import METRICS
from mase.metrics.evaluator import Evaluator
from mase.metrics.intervals import paired_mean
from mase.models.runtime import configure
from mase.regression.laws import Laws, Mixture
from mase.regression.precision import Precision
from mase.regression.problem import Distribution, Sample
from mase_paper.experiments.cached_model import CachedModel
from mase_paper.experiments.lines import continued, read_lines
from mase_paper.experiments.provenance import made_with
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

# Rows about the first words are of so many laws, for numbers of words up to this share of `n_top`. In the laws that
# scores stand for, the mask rate falls over so many ranks. In rows that are drawn, the first words are masked, and of
# so many next words each with this rate. These rows are a share of those of later rounds.
N_LAWS, LAST, SOFTNESS, NEXT, RATE, SHARE = 6, 0.4, 0.3, 12, 1 / 8, 0.2
SHOWN_KS, HIGHEST, STRONG = (1, 2, 3, 5, 10, 15), 5, 10
COLUMNS = ("mean", *(f"k = {k}" for k in SHOWN_KS), "comprehensiveness", "sufficiency")
HERE = Path(__file__).with_suffix("")


@dataclass(frozen=True, slots=True)
class FirstWords(Candidate):
    """The design `focused` with rows about the first words, and scores that stand for them."""

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows; in later rounds the first of them mask the words with the highest coefficients so far."""
        sample = Candidate.draw(self, rng, n, distribution, gamma)
        k = round(SHARE * n)
        if gamma is None or not k:
            return sample
        means = np.atleast_2d(gamma).mean(axis=0)[None]
        numbers, ranks = self._numbers(means.shape[1]), np.arange(means.shape[1]) + 0.5
        now_and_then = np.where(ranks < numbers + NEXT, RATE, 0.0)
        kept_rates = 1 - np.concatenate(by_rank(means, np.where(ranks < numbers, 1.0, now_and_then)).swapaxes(0, 1))
        law = np.arange(k) % len(kept_rates)
        kept = (rng.random((k, kept_rates.shape[1])) < kept_rates[law]).astype(np.float64)
        own = Laws(np.equal.outer(np.arange(len(kept_rates)), law).astype(np.float64), kept_rates)
        assert sample.laws is not None
        coordinates = np.concatenate([kept, sample.coordinates[k:]])
        return replace(
            sample,
            coordinates=coordinates,
            deviations=coordinates - distribution.center,
            laws=own.joined(sample.laws.rows(slice(k, None))).rows(slice(None)),
        )

    def aim(self, gamma: Floats) -> list[Mixture]:
        """Return the mixture of laws that each of w scores `(w, p)` stands for."""
        numbers, ranks = self._numbers(gamma.shape[1]), np.arange(gamma.shape[1])
        # Between two of the numbers a word has a share of both.
        near = np.maximum(1 - np.abs(ranks - numbers) / numbers[1], 0)
        own = by_rank(gamma, near * (1 - np.arange(N_LAWS)[:, None] / N_LAWS))
        kept = 1 - by_rank(gamma, expit((numbers - ranks) / SOFTNESS))
        return [
            Mixture(np.concatenate([one.shares * (1 - some.sum(axis=0)), some]), np.concatenate([one.rates, rates]))
            for one, some, rates in zip(Candidate.aim(self, gamma), own, kept, strict=True)
        ]

    def _numbers(self, p: int) -> Floats:
        """Return the numbers of words that are masked before `(N_LAWS, 1)`, of which the first is 0."""
        return LAST * min(self.n_top, p / 3) * np.arange(N_LAWS)[:, None] / N_LAWS


def methods() -> tuple[list[Method], list[Method]]:
    """Return `mase` with the candidates, and the rivals: a search with as many evaluations, and occlusion."""
    designs = {"mase": Candidate(), "ordered, .1 .3 .6": Ordered(of_laws=(0.1, 0.3, 0.6)), "first words": FirstWords()}
    rivals = [resolve("greedy-search", n_samples=1000), resolve("occlusion", link="margin")]
    return [method_of(name, design) for name, design in designs.items()], rivals


def explain(target: str, args: argparse.Namespace) -> None:
    """Write the records of a target that its file lacks."""
    model = TARGETS[target].load(args.models)
    split = TARGETS[target].split("validation", args.data_dir)
    metrics: dict[str, Any] = {"Delta Accuracy": METRICS["delta-accuracy"](ks=KS)}
    metrics |= {name: METRICS[name]() for name in ("comprehensiveness", "sufficiency")}
    candidates, rivals = methods()
    cached = CachedModel(model)
    evaluator = Evaluator(
        cached, methods=[*candidates, *rivals], metrics=metrics, units="wordpunct", precision=args.precision
    )
    columns = [metric for metric, _ in evaluator.columns]
    with continued(args.records / f"{target}.jsonl", made_with(model, split, args.precision)) as file:
        done = {one["row"] for one in file.known}
        for chosen in islice(choose(model, split, 0), args.n_texts):
            if chosen.row in done:
                continue
            lines = []
            for name, found in evaluator(chosen.text).by_method.items():
                assert found is not None
                values = [(metric, round(float(value), 6)) for metric, value in zip(columns, found.values, strict=True)]
                flips = [value for metric, value in values if metric == "Delta Accuracy"]
                line = {"method": name, "row": chosen.row, "n_queries": found.n_queries, "Delta Accuracy": flips}
                line |= {metric: value for metric, value in reversed(values) if metric != "Delta Accuracy"}
                method = next((one for one in candidates if one.name == name), None)
                lines.append(
                    line | ({} if method is None else again(cached, method, chosen.text, found.scores, args.precision))
                )
            file.append(lines)
            cached.clear()


def again(model: Any, method: Method, text: str, scores: Floats, precision: Precision) -> dict[str, Any]:
    """Return how far an explanation with another seed agrees with the scores `(p,)`, and how sure it is of its own."""
    found = mase.Explainer(model, method=method, seed=1, units="wordpunct", precision=precision, evidence=0)(text)
    strong, other = (set(np.argsort(-one)[:STRONG].tolist()) for one in (scores, found.scores))
    highest = np.argsort(-found.scores)[:HIGHEST]
    error = float(np.sqrt(np.mean(found.standard_errors[highest] ** 2)) / max(np.abs(found.scores).max(), 1e-12))
    return {
        "same first": bool(scores.argmax() == found.scores.argmax()),
        "overlap": round(len(strong & other) / len(strong | other), 4),
        "error": round(error, 4),
        "reliable": found.verdict.reliable,
    }


def tables(target: str, some: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the two tables of a target: how good the scores are, and how sure."""
    by_method: dict[str, dict[int, Mapping[str, Any]]] = {}
    for one in some:
        by_method.setdefault(one["method"], {})[one["row"]] = one
    ours = by_method["mase"]
    yield f"## {TARGETS[target].title}"
    yield ""
    yield f"| method | evaluations | {' | '.join(COLUMNS)} |"
    yield f"|---|---:|{'---:|' * len(COLUMNS)}"
    for name, rows in by_method.items():
        theirs, of_mase = ([_numbers(of[row]) for row in ours] for of in (rows, ours))
        cells = [f"`{name}`", f"{np.mean([rows[row]['n_queries'] for row in ours]):.0f}"]
        for column, own in zip(zip(*theirs, strict=True), zip(*of_mase, strict=True), strict=True):
            more = paired_mean(column, own)
            apart = "" if name == "mase" else f"<br>{more.mean:+.3f} [{more.low:+.3f}, {more.high:+.3f}]"
            cells.append(f"{sum(column) / len(column):.3f}{apart}")
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"{len(ours)} texts. With another seed:"
    yield ""
    yield "| method | same first word | overlap | error | reliable |"
    yield "|---|---:|---:|---:|---:|"
    for name, rows in by_method.items():
        if "overlap" in next(iter(rows.values())):
            means = [
                np.mean([rows[row][key] for row in ours]) for key in ("same first", "overlap", "error", "reliable")
            ]
            yield f"| `{name}` | {' | '.join(f'{mean:.3f}' for mean in means)} |"
    yield ""


def _numbers(record: Mapping[str, Any]) -> list[float]:
    """Return the numbers of a record, by `COLUMNS`."""
    flips = record["Delta Accuracy"]
    rest = [record[name] for name in ("comprehensiveness", "sufficiency")]
    return [float(np.mean(flips)), *(flips[k - 1] for k in SHOWN_KS), *rest]


INTRODUCTION = f"""\
# Scores whose first words stand for rows about the whole text

Validation texts, explained with 1,000 samples (AMD EPYC) in float32, those of the BERT in bfloat16. *Mean* is Delta
Accuracy as a mean over k = 1 ... 15, and the columns after it are Delta Accuracy of k words. Below each figure: by how
much it is above that of `mase` on the same texts, with a paired 95 % interval (a bootstrap over texts, widened if they
are few); of sufficiency, lower is better. *Same first word* is the share of texts whose highest word is the same with
two seeds, *overlap* that of the {STRONG} highest words of both (Jaccard), *error* the root mean square of the standard
errors of the {HIGHEST} highest words over the highest score, and *reliable* the share of texts with that verdict.
`experiments/first_words.py` made this page; its first lines say what is compared and how to repeat it.
[The decision](../../docs/decisions/2026-11-25-words-before.md) says what follows.
"""


def main() -> None:
    """Explain the texts of a target, or write the page."""
    args = arguments(__doc__, HERE)
    configure(1)
    if args.target is not None:
        explain(args.target, args)
        return
    found = {target: read_lines(args.records / f"{target}.jsonl") for target in TARGETS}
    lines = [INTRODUCTION, *(line for target, some in found.items() if some for line in tables(target, some))]
    (HERE / "first_words.md").write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
