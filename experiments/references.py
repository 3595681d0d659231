"""Compare the scores of a method under one reference with those under another one, and with another seed.

The paper wants to remove "the uncertainty of the masking alternative": what stands for an absent word. Test texts are
explained by methods that mask words, with each reference of the LSTMs, and by `mase-nlgp`, which has none. The table
goes to `experiments/references/references.md`.

    python experiments/references.py DATA_DIR
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, permutations
from pathlib import Path

import numpy as np

from mase.arrays import Floats
from mase.explainer import Explainer
from mase.metrics.agreement import jaccard, spearman
from mase.metrics.intervals import Summary, summary_of_mean
from mase.models import Callable, load
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase_paper.experiments.selection import choose
from mase_paper.experiments.testbeds import TARGETS

NAMES = ("lstm-imdb", "lstm-reuters")
MASKING = ("mase", "lime+margin", "kernel-shap+margin")
WITHOUT = "mase-nlgp"
REFERENCES = ("unk", "zero", "delete")
SEEDS = (0, 1)
UNKNOWN = "zzzzzzzz"  # a word that no model knows, in place of a text of which every word is deleted
N_SAMPLES, TOP, FEWEST_WORDS = 1000, 5, 10


@dataclass(frozen=True)
class Agreement:
    """Rank correlation of two lists of scores, and the overlap (Jaccard) of their top words."""

    rank: float
    top: float

    @classmethod
    def of(cls, first: Floats, second: Floats) -> "Agreement":
        """Return the agreement of scores `(w,)` and `(w,)`."""
        return cls(spearman(first, second), jaccard(first, second, TOP))


Scores = Mapping[tuple[str, str, int], Floats]


def read_words(model: Model, text: str) -> str:
    """Return the words that a model reads of a text, with spaces between them: a function of texts then reads them all.

    Inner apostrophes are left out, so that every word is one unit.
    """
    spans = model.encode(text).spans
    return " ".join(text[start:end].replace("'", "").replace("’", "") for start, end in filter(None, spans))


def explained(model: Model, text: str) -> Scores:
    """Return the scores `(w,)` of a text by method, reference and seed."""
    words = read_words(model, text)
    deleting = Callable(lambda texts: model.predict([text.strip() or UNKNOWN for text in texts]), model.labels)
    scores = {}
    for seed in SEEDS:
        for name in MASKING:
            method, _, link = name.partition("+")
            for reference in REFERENCES:
                asked, options = (deleting, {}) if reference == "delete" else (model, {"reference": reference})
                explainer = Explainer(
                    asked,
                    method=method,
                    link=link or None,
                    n_samples=N_SAMPLES,
                    units="wordpunct",
                    seed=seed,
                    **options,
                    evidence=0,
                )
                scores[name, reference, seed] = explainer(words).scores
        explainer = Explainer(
            model, method=WITHOUT, n_samples=N_SAMPLES, units="wordpunct", seed=seed, link="margin", evidence=0
        )
        scores[WITHOUT, "", seed] = explainer(words).scores
    return scores


def agreements(scores: Scores) -> Iterator[tuple[str, str, Agreement]]:
    """Yield the method, what is compared, and the agreement, for one text."""
    for name in MASKING:
        for reference in REFERENCES:
            yield name, "other seed", Agreement.of(*(scores[name, reference, seed] for seed in SEEDS))
        for one, other in permutations(REFERENCES, 2):
            pair = " / ".join(sorted((one, other), key=REFERENCES.index))
            yield name, pair, Agreement.of(scores[name, one, SEEDS[0]], scores[name, other, SEEDS[1]])
    yield WITHOUT, "other seed", Agreement.of(*(scores[WITHOUT, "", seed] for seed in SEEDS))
    for reference in REFERENCES:
        both = scores[WITHOUT, "", SEEDS[0]], scores["mase", reference, SEEDS[1]]
        yield f"{WITHOUT} against mase", reference, Agreement.of(*both)


def table(found: list[list[tuple[str, str, Agreement]]]) -> Iterator[str]:
    """Yield the rows of one model: means over texts with their intervals."""
    for method, compared in dict.fromkeys((method, compared) for text in found for method, compared, _ in text):
        by_text = [[one for *key, one in text if key == [method, compared]] for text in found]
        ranks, tops = (
            summary_of_mean([np.mean([getattr(one, name) for one in some]) for some in by_text])
            for name in ("rank", "top")
        )
        yield f"| `{method}` | {compared} | {told(ranks)} | {told(tops)} |"


def told(summary: Summary) -> str:
    """Return a mean with its interval."""
    return f"{summary.mean:.2f} ({summary.low:.2f} to {summary.high:.2f})"


INTRODUCTION = f"""\
# Agreement of scores across references

Made by `experiments/references.py`: what stands for an absent word is the unknown token's vector (*unk*), the zero
vector, which is that of padding (*zero*), or nothing, as the word is deleted from the text (*delete*). The texts are
the first of the test split that have at least {FEWEST_WORDS} words and are classified correctly, cut to what the LSTM
reads. {N_SAMPLES:,} samples, the margin as link. `{WITHOUT}` scales words and has no reference. The scores under two
references are those of two seeds, because equal seeds draw equal rows and share their errors. Two seeds under one
reference (the mean over the three) show what sampling alone leaves. Spearman's rank correlation of all scores, and the
overlap (Jaccard) of the top {TOP} words; means over texts with 95 % intervals, a bootstrap over texts."""
HEAD = f"| method | compared | rank correlation | overlap of the top {TOP} |\n|---|---|--:|--:|"


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    parser.add_argument("--n-texts", type=int, default=25)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(""))
    args = parser.parse_args()
    configure(1)
    parts = [INTRODUCTION]
    for name in NAMES:
        model, target = load(name), TARGETS[name]
        split = target.split("test", args.data_dir)
        texts = (one.text for one in choose(model, split, 0))
        long = islice((text for text in texts if len(read_words(model, text).split()) >= FEWEST_WORDS), args.n_texts)
        found = [list(agreements(explained(model, text))) for text in long]
        parts.append(f"## {target.title} ({len(found)} texts)\n\n{HEAD}\n" + "\n".join(table(found)))
        print(parts[-1], flush=True)  # noqa: T201
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "references.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
