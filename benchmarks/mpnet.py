"""Explanations of an encoder of the size of BERT-base by mase and by its peers, beside forward passes alone.

Same model, same text, same number of samples, one thread, taking turns, in the environment of `make bench-peers`:

    .venv-bench/bin/python benchmarks/mpnet.py

Times are processor seconds, so that another process on the machine counts little. What mase does besides its forward
passes is also measured within one explanation, because the passes themselves vary by more than that.
"""

import argparse
import statistics
import time
import warnings

import torch
import transformers

import mase
from mase.models.bundled import mpnet
from mase.models.bundled.bert import base_folder, tokenizer
from peers import TEXT, bare, by_captum, by_text, padded
from timing import Case, interleaved, provenance, relative, spread, write

NAME, N, ROUNDS = "mpnet-imdb", 500, 2
BATCHES = (8, 16, 32)


def cases(adapter: mase.models.HuggingFace) -> dict[str, Case]:
    """Return the bare forward passes and the explanations of mase, captum, shap and lime."""
    words = tokenizer(base_folder(None, mpnet.BASE))
    module, ids = adapter.module, adapter.encode(TEXT).ids
    found: dict[str, Case] = {f"bare forwards, batch {b}": bare(module, ids, N, b) for b in BATCHES}
    for precision in ("float32", "bfloat16"):
        explainer = mase.Explainer(adapter, n_samples=N, precision=precision, evidence=0)
        found[f"explanation by mase, {precision}"] = lambda e=explainer: e(TEXT)
    found |= dict(by_captum(lambda batch: module(batch).logits, ids, words.mask_token_id, N))
    return found | dict(by_text(padded(module, words), N))


def share_outside(adapter: mase.models.HuggingFace) -> float:
    """Return the share of an explanation's time that is not spent in forward passes."""
    explainer = mase.Explainer(adapter, n_samples=N, evidence=0)
    marks: list[float] = []
    hooks = [
        adapter.module.register_forward_pre_hook(lambda *_: marks.append(-time.process_time())),
        adapter.module.register_forward_hook(lambda *_: marks.append(time.process_time())),
    ]
    began = time.process_time()
    explainer(TEXT)
    total = time.process_time() - began
    for hook in hooks:
        hook.remove()
    return 1 - sum(marks) / total


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=NAME, help="a folder that `mase train mpnet-imdb` wrote, or the bundled one")
    name = parser.parse_args().model
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    adapter = mase.models.load(name)
    measured = cases(adapter)
    measured["explanation by mase, bfloat16"]()  # warms up; a whole round of all cases would take ten minutes
    seconds = interleaved(measured, ROUNDS, time.process_time, warm=False)
    medians = {case: statistics.median(values) for case, values in seconds.items()}
    ratios = relative(seconds)  # of mase and the bare forwards, round by round
    best = min(value for case, value in medians.items() if case.startswith("bare"))
    ratios = {case: ratios.get(case, value / best) for case, value in medians.items()}
    outside = share_outside(adapter)
    n_tokens = len(adapter.encode(TEXT).ids)
    result = provenance("python benchmarks/mpnet.py", ROUNDS) | {
        "model": NAME,
        "n_tokens": n_tokens,
        "n_samples": N,
        "processor seconds": {case: spread(values) for case, values in seconds.items()},
        "ratio to best bare": ratios,
        "share outside forward passes": outside,
    }
    lines = [
        f"{NAME}, {n_tokens} tokens, N = {N}, one thread, {ROUNDS} interleaved rounds: median processor seconds.",
        "",
        "| case | seconds | / bare |",
        "|---|---|---|",
        *(f"| {case} | {value:.2f} | {ratios[case]:.3f} |" for case, value in medians.items()),
        "",
        f"Of an explanation by mase in float32, {outside:.1%} is not spent in forward passes.",
    ]
    write("mpnet", result, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
