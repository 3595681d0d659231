"""Count how often a verdict is right: do the strongest words stay the strongest under another seed?

Texts of the four classifiers of the paper are explained by several methods, with several budgets and seeds. The rule of
`mase.attribution.verdict` was chosen on validation texts. Test texts and a scikit-learn pipeline, which had no part in
that, check it. Explanations go to RECORDS as lines of JSON, one file for each classifier and split; an interrupted
run continues where it stopped. The figures go to `experiments/verdict/`; `--report-only` makes them again.

    python experiments/verdict.py DATA_DIR RECORDS
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, permutations
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from verdict_tables import Pair, write

import mase
from mase.arrays import Floats
from mase.attribution import Attribution, ranking
from mase.datasets import load as load_split
from mase.errors import TooFewSamplesError
from mase.io.json import dumps, load_many
from mase.models import adapt, load
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase.text import find_words
from mase_paper.experiments.lines import continued
from mase_paper.experiments.selection import choose

CAUTIONS = frozenset({"constant", "few-samples", "poor-fit", "unstable"})
METHODS = ("mase", "mase-nlgp", "mase-sparse", "mase-paper", "lime", "kernel-shap", "partition-shap", "occlusion")
BLACK_BOX = ("mase", "lime", "kernel-shap", "partition-shap", "occlusion")
SIZES = (100, 300, 1000)
# The first words of a text that are explained, in turn; None for all of them.
LENGTHS = (None, 30, 12, None, 20, 8)
TRAINED_ON = 5000


def probability_of_staying(scores: Floats, errors: Floats) -> float:
    """Return how probable it is that another seed lists the same strongest words: the verdict until version 0.2.

    Scores of another seed are drawn 400 times from normal distributions around these scores, with the variance of the
    difference between two seeds. The result is the share of draws in which at least four of the five words of largest
    absolute score are among the five again, ties included. Of fewer than ten words the stronger half is judged, four
    fifths of which, rounded up, have to stay. The draws are 200 pairs of opposite deviations, so that scores of
    opposite signs, as for the other of two classes, stay as often.

    Parameters
    ----------
    scores, errors
        Scores and their standard errors `(w,)`.

    """
    noise = np.random.Generator(np.random.PCG64(0)).standard_normal((200, scores.size))
    noise = np.concatenate([noise, -noise])
    with np.errstate(over="ignore", invalid="ignore"):  # errors near the largest float: no word stays
        strength = np.abs(scores + np.sqrt(2) * errors * noise)
        strength = np.round(strength / (strength.max(axis=1, keepdims=True) + np.finfo(np.float64).tiny), 6)
    k = _n_judged(scores.size)
    listed = np.argsort(-np.abs(scores), kind="stable")[:k]
    least = np.partition(strength, scores.size - k, axis=1)[:, [scores.size - k]]
    stay = (strength[:, listed] >= least).sum(axis=1)
    return float((stay >= _n_needed(k)).mean())


def _n_judged(n_words: int) -> int:
    """Return how many of the strongest words are judged: five, but at most half of the words of a text."""
    return min(5, max(1, n_words // 2))


def _n_needed(k: int) -> int:
    return ceil(0.8 * k)


@dataclass(frozen=True)
class Part:
    """Texts of one classifier: how many of which split, with how many seeds, and the settings that explain them."""

    target: str
    dataset: str
    split: str
    n_texts: int
    seeds: int
    settings: tuple[tuple[str, int], ...]
    lengths: tuple[int | None, ...] = LENGTHS

    @property
    def name(self) -> str:
        """The name of the file of its explanations."""
        return f"{self.target}-{self.split}"


ALL = tuple((method, n) for method in METHODS for n in SIZES)
FEW = (("mase", 100), ("mase", 300), ("lime", 300), ("kernel-shap", 300), ("mase", 1000))
SHORT = (20, 8, 12, 30)  # a transformer takes ten times as long for a whole text
PARTS = (
    Part("lstm-imdb", "imdb", "validation", 18, 3, ALL),
    Part("lstm-reuters", "reuters", "validation", 18, 3, ALL),
    Part("bert-imdb", "imdb", "validation", 12, 2, FEW, SHORT),
    Part("bert-reuters", "reuters", "validation", 12, 2, FEW, SHORT),
    Part("scikit-learn", "imdb", "test", 18, 3, tuple((m, n) for m in BLACK_BOX for n in SIZES)),
    Part("lstm-imdb", "imdb", "test", 12, 2, ALL),
    Part("lstm-reuters", "reuters", "test", 12, 2, ALL),
    Part("bert-imdb", "imdb", "test", 4, 2, FEW, SHORT),
    Part("bert-reuters", "reuters", "test", 4, 2, FEW, SHORT),
)


def model_of(part: Part, data_dir: str) -> Model:
    """Return the classifier of a part; the pipeline is trained for it."""
    if part.target != "scikit-learn":
        return load(part.target)
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    train = load_split(part.dataset, "train", data_dir)
    rows = range(0, len(train), len(train) // TRAINED_ON)
    pipeline = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), min_df=3), LogisticRegression(C=10, max_iter=1000))
    pipeline.fit([train.texts[row] for row in rows], [train.labels[row] for row in rows])
    return adapt(pipeline)


def texts_of(part: Part, model: Model, data_dir: str) -> Iterator[str]:
    """Yield the texts of a part, whole or cut after so many words."""
    split = load_split(part.dataset, part.split, data_dir)
    for chosen in islice(choose(model, split, 0), part.n_texts):
        length = part.lengths[chosen.number % len(part.lengths)]
        words = find_words(chosen.text)
        yield chosen.text if length is None or len(words) <= length else chosen.text[: words[length - 1][1]]


def explain(part: Part, data_dir: str, records: Path) -> None:
    """Write the explanations of a part that its file lacks."""
    model = model_of(part, data_dir)
    with continued(records / f"{part.name}.jsonl") as file:
        done = set(map(key, file.known))
        for text in texts_of(part, model, data_dir):
            for method, n_samples in part.settings:
                for seed in range(part.seeds):
                    if (text, method, n_samples, seed) in done:
                        continue
                    explainer = mase.Explainer(model, method=method, n_samples=n_samples, seed=seed, evidence=0)
                    with suppress(TooFewSamplesError):  # occlusion asks once for each word
                        file.append([json.loads(dumps(explainer(text)))])


def key(line: dict[str, Any]) -> tuple[str, str, int, int]:
    """Return text, method, number of samples and seed of an explanation."""
    return line["document"][0]["text"], line["method"]["name"], line["method"]["n_samples"], line["seed"]


def listed(values: Any, k: int = 5) -> set[int]:
    """Return the indices of the k highest of the values `(w,)` with all ties, but for rounding."""
    rounded = np.round(values / (np.abs(values).max() or 1.0), 9)
    return set(np.flatnonzero(rounded >= np.sort(rounded)[-min(k, len(rounded))]).tolist())


def first(values: Any, k: int = 5) -> set[int]:
    """Return the indices of the k highest of the values `(w,)`, in a tie those that come first."""
    return set(ranking(values)[:k].tolist())


def pairs(part: str, found: Iterable[Attribution]) -> Iterator[Pair]:
    """Yield every ordered pair of seeds of the same explanation."""
    seeds: dict[tuple[str, str, int], list[Attribution]] = defaultdict(list)
    for one in found:
        seeds[one.text, one.method["name"], one.method["n_samples"]].append(one)
    for (_, method, n_samples), many in seeds.items():
        said = [(one, one.verdict.reliable, stays(one)) for one in many]
        for (one, reliable, probability), (other, _, _) in permutations(said, 2):
            yield Pair(
                group=(part, method, n_samples),
                n_words=len(one.scores),
                sampled=bool(np.nan_to_num(one.standard_errors).any()),
                reliable=reliable,
                stays=probability,
                kept=len(first(np.abs(one.scores)) & listed(np.abs(other.scores))),
                kept_best=len(first(one.scores) & listed(other.scores)),
            )


def stays(found: Attribution) -> float:
    """Return the probability on which the verdict rests, 0 if something else decides."""
    if found.r2 is None or CAUTIONS & {note.code for note in found.notes}:
        return 0.0
    return probability_of_staying(found.scores, np.nan_to_num(found.standard_errors))


def pairs_of(records: Path) -> Iterator[Pair]:
    """Yield every pair of the explanations that are there."""
    for part in PARTS:
        path = records / f"{part.name}.jsonl"
        found = [one for one in load_many(path) if isinstance(one, Attribution)] if path.exists() else []
        yield from pairs(part.name, found)


def main() -> None:
    """Explain what is missing, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("records", type=Path)
    parser.add_argument("--report-only", action="store_true", help="make the figures from the records that are there")
    args = parser.parse_args()
    configure(1)
    args.records.mkdir(parents=True, exist_ok=True)
    for part in () if args.report_only else PARTS:
        explain(part, args.data_dir, args.records)
    write(list(pairs_of(args.records)), Path(__file__).parent / "verdict")


if __name__ == "__main__":
    main()
