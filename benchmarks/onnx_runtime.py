"""The bundled models in ONNX Runtime, in float32 and with weights of 8 bits: time, logits and scores against torch.

`make bench` runs it in one process with one thread. All cases take turns. Times are seconds of the processor, which a
busy machine changes little.
"""

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

import mase
from core import TEXT
from mase.models.base import Model
from timing import provenance, spread, write

NAMES, N, ROUNDS = ("lstm-imdb", "bert-imdb"), 256, 7
REFERENCE = "unk"
KINDS = ("torch", "float32", "8 bits")
TEXTS = Path(__file__).parents[1] / "examples" / "reviews.txt"


def main() -> None:
    """Measure, print and write."""
    torch.set_num_threads(1)
    texts = [TEXT, *filter(str.strip, TEXTS.read_text(encoding="utf-8").splitlines())]
    result, lines = provenance("make bench", ROUNDS) | {"n_samples": N, "n_texts": len(texts), "models": {}}, []
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            models: dict[str, Model] = {
                "torch": mase.models.load(name),
                "float32": mase.models.export_onnx(name, Path(folder) / name),
                "8 bits": mase.models.export_onnx(name, Path(folder) / f"{name}-8", quantized=True),
            }
            result["models"][name] = _compared(models, texts)
    head = "| model | weights | seconds | ratio to torch | logits off, at most | logits off, RMS | scores off, RMS "
    lines += [
        f"`mase-mask` at N = {N} with the reference `{REFERENCE}`: seconds of the processor for one text of "
        f"{len(TEXT.split())} words, the median of {ROUNDS} interleaved rounds, and the differences from torch over "
        f"{len(texts)} texts. The logits are the difference of the two classes. Scores are relative to their own "
        "root mean square; those of two seeds of torch differ as in the last line of each model.",
        "",
        f"{head}| Spearman | same 5 best words |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in result["models"].items():
        for kind, one in found.items():
            cells = [name, kind, _number(one.get("seconds", {}).get("median"), 3), _number(one.get("ratio"), 2)]
            cells += [_number(one.get(key), 1, "e") for key in ("largest", "rms", "scores")]
            cells += [_number(one.get("Spearman"), 3), _number(one.get("top 5"), 2)]
            lines.append(f"| {' | '.join(cells)} |")
    write("onnx_runtime", result, "\n".join(lines) + "\n")


def _number(value: float | None, digits: int, form: str = "f") -> str:
    return "" if value is None else f"{value:.{digits}{form}}"


def _compared(models: dict[str, Model], texts: list[str]) -> dict[str, dict]:
    """Return time and differences by kind."""
    seconds = _seconds({kind: _explainer(model) for kind, model in models.items()})
    margins = {kind: _margins(model, texts) for kind, model in models.items()}
    scores = {kind: [_explainer(model)(text).scores for text in texts] for kind, model in models.items()}
    found = {}
    for kind in KINDS:
        ratios = [one / other for one, other in zip(seconds[kind], seconds["torch"], strict=True)]
        found[kind] = {"seconds": spread(seconds[kind]), "ratio": statistics.median(ratios)}
        if kind != "torch":
            off = margins[kind] - margins["torch"]
            found[kind] |= {"largest": float(np.abs(off).max()), "rms": float(np.sqrt((off**2).mean()))}
            found[kind] |= _agreement(scores["torch"], scores[kind])
    other = [_explainer(models["torch"], seed=1)(text).scores for text in texts]
    return found | {"torch, another seed": _agreement(scores["torch"], other)}


def _explainer(model: Model, seed: int = 0) -> mase.Explainer:
    return mase.Explainer(model, method="mase-mask", reference=REFERENCE, n_samples=N, seed=seed, evidence=0)


def _seconds(explainers: dict[str, mase.Explainer]) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {kind: [] for kind in explainers}
    for number in range(ROUNDS + 1):  # the first is not counted
        for kind, explainer in explainers.items():
            began = time.process_time()
            explainer(TEXT)
            if number:
                seconds[kind].append(time.process_time() - began)
    return seconds


def _margins(model: Model, texts: list[str]) -> np.ndarray:
    """Return the log-odds of the second class."""
    chances = model.predict(texts)
    return np.log(chances[:, 1]) - np.log(chances[:, 0])


def _agreement(reference: list[np.ndarray], found: list[np.ndarray]) -> dict[str, float]:
    pairs = list(zip(reference, found, strict=True))
    off = [np.sqrt(((a - b) ** 2).mean() / (a**2).mean()) for a, b in pairs]
    ranks = [spearmanr(a, b).statistic for a, b in pairs]
    best = [len({*np.argsort(-a)[:5]} & {*np.argsort(-b)[:5]}) / min(5, len(a)) for a, b in pairs]
    return {"scores": float(np.mean(off)), "Spearman": float(np.mean(ranks)), "top 5": float(np.mean(best))}


if __name__ == "__main__":
    main()
