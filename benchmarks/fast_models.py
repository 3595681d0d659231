"""What an explanation costs beyond the model, for models that answer in microseconds; `make bench` runs it.

A TF-IDF pipeline and reviews of 60 to 100 words with 500 and with automatic samples, the same sentences of 18 words
with 300 samples, and the bundled LSTM. All times are processor times of one run and one thread, in turns. Where the
packages lime (0.2.0.1) and shap are installed, they take turns, too, with as many rows.

    python benchmarks/fast_models.py DATA_DIR
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import mase
from mase_paper.datasets import load
from timing import Case, interleaved, provenance, write

ROUNDS, N_TEXTS, BATCH, N_SHORT, SHORT = 3, 10, 256, 300, 18


def each(texts: Sequence[str], call: Callable[[str], Any]) -> Case:
    """Return a case that calls a function with each text."""

    def run() -> None:
        for text in texts:
            call(text)

    return run


def asked(pipeline: Any, texts: Sequence[str], **options: Any) -> list[list[str]]:
    """Return the strings that an explanation of each text asks the pipeline about."""
    strings: list[list[str]] = []

    def recorded(some: Sequence[str]) -> Any:
        strings[-1] += some
        return pipeline.predict_proba(list(some))

    model = mase.models.Callable(recorded, ["neg", "pos"], name="recorded")
    for text in texts:
        strings.append([])
        mase.Explainer(model, **options)(text)
    return strings


def own_time(pipeline: Any, strings: Sequence[Sequence[str]]) -> Case:
    """Return the case of the model alone: the same strings in batches."""

    def run() -> None:
        for some in strings:
            for start in range(0, len(some), BATCH):
                pipeline.predict_proba(list(some[start : start + BATCH]))

    return run


def peers(pipeline: Any, texts: Sequence[str], n: int) -> dict[str, Case]:
    """Return the cases of other packages, where they are installed."""
    cases: dict[str, Case] = {}
    try:
        from lime.lime_text import LimeTextExplainer
    except ImportError:
        pass
    else:
        explainer = LimeTextExplainer(class_names=["neg", "pos"], random_state=0)
        explain = partial(explainer.explain_instance, classifier_fn=pipeline.predict_proba, num_samples=n)
        cases["the lime package, as many rows"] = each(texts, explain)
    try:
        import shap
    except ImportError:
        pass
    else:
        partition = shap.Explainer(lambda some: pipeline.predict_proba(list(some)), shap.maskers.Text(r"\W+"))
        cases["shap's Partition, 500 evaluations"] = each(texts, lambda text: partition([text], max_evals=500))
    return cases


def table(title: str, seconds: dict[str, list[float]], n: int, base: str) -> list[str]:
    """Return a table of milliseconds a text, and of the ratio to the base."""
    best = statistics.median(seconds[base])
    lines = ["", f"## {title}", "", f"| | ms a text | over {base} |", "|---|--:|--:|"]
    for name, values in seconds.items():
        ratio = statistics.median(value / other for value, other in zip(values, seconds[base], strict=True))
        lines.append(f"| {name} | {1e3 * statistics.median(values) / n:.1f} | {ratio:.2f} |")
    assert best > 0
    return lines


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir")
    args = parser.parse_args()
    torch.set_num_threads(1)
    train, later = load("imdb", "train", args.data_dir), load("imdb", "validation", args.data_dir)
    pipeline = make_pipeline(TfidfVectorizer(min_df=3, ngram_range=(1, 2)), LogisticRegression(max_iter=300))
    pipeline.fit(list(train.texts)[::3], list(train.labels)[::3])
    texts = [text for text in later.texts if 60 <= len(text.split()) <= 100][:N_TEXTS]
    clock, whole = time.process_time, {}
    lines = [f"{ROUNDS} rounds in turns, {N_TEXTS} texts, processor time, one thread, medians."]
    for name, options in (("500 samples", {"n_samples": 500}), ("automatic samples", {})):
        strings = asked(pipeline, texts, **options)
        n_rows = round(float(np.mean([len(some) for some in strings])))
        cases = {
            "the model alone": own_time(pipeline, strings),
            "mase": each(texts, mase.Explainer(pipeline, **options)),
            "mase, without evidence": each(texts, mase.Explainer(pipeline, evidence=0, **options)),
            "the same, least squares": each(
                texts, mase.Explainer(pipeline, method="mase+estimator=least-squares", evidence=0, **options)
            ),
            **peers(pipeline, texts, n_rows),
        }
        whole[name] = interleaved(cases, ROUNDS, clock)
        title = f"TF-IDF pipeline, reviews of 60 to 100 words, {name}, {n_rows} rows"
        lines += table(title, whole[name], N_TEXTS, next(iter(cases)))
    short = [" ".join(text.split()[:SHORT]) for text in texts]
    cases = {
        "method lime, as many rows": each(short, mase.Explainer(pipeline, method="lime", n_samples=N_SHORT)),
        "mase": each(short, mase.Explainer(pipeline, n_samples=N_SHORT)),
    }
    whole["sentences"] = interleaved(cases, ROUNDS, clock)
    lines += table(
        f"The same, sentences of {SHORT} words, {N_SHORT} rows", whole["sentences"], N_TEXTS, next(iter(cases))
    )
    model: Any = mase.models.load("lstm-imdb")
    some = texts[:4]
    explain = mase.Explainer(model)
    rows = [torch.tensor([model.encode(text).ids]).repeat(64, 1) for text in some]
    counts = [explain(text).fit.n_queries for text in some]

    def bare() -> None:
        with torch.inference_mode():
            for ids, n in zip(rows, counts, strict=True):
                for start in range(0, n, 64):
                    model.module(ids[: min(64, n - start)])

    cases = {"bare passes, batch 64": bare, "mase": each(some, explain)}
    whole["lstm"] = interleaved(cases, ROUNDS, clock)
    lines += table("LSTM-IMDB, the same reviews, automatic samples", whole["lstm"], len(some), next(iter(cases)))
    measured = {"seconds": whole}
    write("fast_models", provenance("make bench", ROUNDS) | measured, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
