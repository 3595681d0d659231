"""What each library does when it is given a pair, or more text than the model reads: really tried, not looked up."""

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import transformers

import mase
from inputs_peers import BATCH, Reading

__all__ = ["Attempt", "long_attempts", "pair_attempts"]

# The task, the library, what was called, and what came of it.
Attempt = tuple[str, str, str, str]
N = 16


@contextmanager
def _heard() -> Iterator[list[str]]:
    """Collect everything that is said: warnings, logs of transformers and output."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    out = io.StringIO()
    transformers.logging.add_handler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(out), redirect_stderr(out):
            warnings.simplefilter("always")
            yield said
        said += [str(one.message) for one in caught] + [out.getvalue()] * bool(out.getvalue().strip())
    finally:
        transformers.logging.remove_handler(handler)


def tried(call: Callable[[], str], *, cut: bool = False) -> str:
    """Return what a call says that came of it, and whether a message said that text was cut off."""
    try:
        with _heard() as said:
            outcome = call()
    except Exception as error:  # noqa: BLE001 - whatever a library raises is its answer
        lines = str(error).split("\n")
        return f"{type(error).__name__}: {lines[0][:110]}"
    if not cut:
        return outcome
    told = any(word in one.lower() for one in said for word in ("truncat", "longer than", "max_length"))
    return f"{outcome}; {'a message says that text is cut off' if told else 'no message'}"


def pair_attempts(reading: Reading, first: str, second: str) -> list[Attempt]:
    """Return what came of giving each library a pair as its own type of input."""
    import interpreto
    import shap
    from lime.lime_text import LimeTextExplainer

    words, granularity = reading.tokenizer, interpreto.Granularity.WORD
    pipe = transformers.pipeline("text-classification", model=reading.module, tokenizer=words, top_k=None)

    def by_mase() -> str:
        found = mase.Explainer(reading.module, words, n_samples=N, evidence=0)((first, second))
        return f"{len(found.units)} words, each with its field"

    def by_shap() -> str:
        found = shap.Explainer(pipe)([(first, second)], max_evals=N, silent=True)
        return f"{len(found.values[0])} pieces"

    def by_lime() -> str:
        found = LimeTextExplainer().explain_instance((first, second), reading.function, num_samples=N)
        return f"{len(found.as_list())} words"

    def by_interpreto() -> str:
        found = interpreto.KernelShap(reading.module, words, n_perturbations=N, batch_size=BATCH)((first, second))
        return f"{len(found)} explanations: each text alone, without the other"

    def by_interpreto_words() -> str:
        encoded = words(first, second, return_tensors="pt", return_offsets_mapping=True)
        types = encoded["token_type_ids"][0].tolist()
        units = granularity.get_indices(encoded, words)[0]
        interpreto.KernelShap(reading.module, words, n_perturbations=N, granularity=granularity)(encoded)
        both = sum(len({types[token] for token in unit}) > 1 for unit in units)
        return f"{both} of {len(units)} units hold a word of each text"

    return [
        ("pairs", "mase", "`explainer((a, b))`", tried(by_mase)),
        ("pairs", "shap", "`shap.Explainer(pipeline)([(a, b)])`", tried(by_shap)),
        ("pairs", "lime", "`explain_instance((a, b), ...)`", tried(by_lime)),
        ("pairs", "interpreto", "`KernelShap(...)((a, b))`", tried(by_interpreto)),
        ("pairs", "interpreto", "`KernelShap(...)(tokenizer(a, b, ...))`, words", tried(by_interpreto_words)),
    ]


def long_attempts(reading: Reading, lstm: Reading, text: str) -> list[Attempt]:
    """Return what came of giving each library a text of more tokens than the model has positions."""
    import interpreto
    import shap
    from captum.attr import KernelShap
    from lime.lime_text import LimeTextExplainer

    words, limit = reading.tokenizer, reading.tokenizer.model_max_length
    pipe = transformers.pipeline("text-classification", model=reading.module, tokenizer=words, top_k=None)
    cutting = transformers.pipeline(
        "text-classification", model=reading.module, tokenizer=words, top_k=None, truncation=True
    )
    ids = words(text, return_tensors="pt", verbose=False)["input_ids"]
    end = words(text, truncation=True, return_offsets_mapping=True)["offset_mapping"][-2][1]
    n = ids.shape[1]

    def by_mase(long: Any) -> str:
        found = mase.Explainer("bert-imdb", units="sentence", n_samples=N, windows=long, evidence=0)(text)
        if found.truncation is None:
            return f"{len(found.windows)} windows, all {len(found.units)} sentences have scores"
        kept, total = found.truncation.n_kept, found.truncation.n_total
        return f"{len(found.units)} sentences in the {kept} of {total} tokens that are read; the result says so"

    def by_shap(pipeline: Any) -> str:
        values = shap.Explainer(pipeline)([text], max_evals=N, silent=True).values[0]
        unread = values[limit - 1 : -1]  # the last token that is read is [SEP]
        scored = int((abs(unread).max(axis=1) > 0).sum())
        return f"{len(values)} tokens, {len(unread)} of them not read by the model, {scored} of those with a score"

    def by_captum() -> str:
        KernelShap(lambda rows: reading.module(rows.long()).logits).attribute(ids, target=0, n_samples=N)
        return f"{n} tokens have scores"

    def by_lime() -> str:
        found = LimeTextExplainer(random_state=0).explain_instance(
            text, reading.function, num_features=10_000, num_samples=N
        )
        string = found.domain_mapper.indexed_string
        places = [int(min(string.string_position(word))) for word, score in found.as_map()[1] if score]
        unread = sum(place >= end for place in places)
        return f"{len(places)} words with a score, {unread} of which are only where the model does not read"

    def by_interpreto() -> str:
        found = interpreto.KernelShap(reading.module, words, n_perturbations=N, batch_size=BATCH)(text)
        return f"{len(found[0].elements)} words, all in the first {end:,} of {len(text):,} characters"

    def by_interpreto_lstm() -> str:
        interpreto.KernelShap(lstm.module, words, n_perturbations=N)
        return "explained"

    return [
        ("long texts", "mase", "`explainer(text)`", tried(lambda: by_mase(False))),
        ("long texts", "mase", "`windows=True`", tried(lambda: by_mase(True))),
        ("long texts", "shap", "`shap.Explainer(pipeline)`", tried(lambda: by_shap(pipe))),
        ("long texts", "shap", "a pipeline with `truncation=True`", tried(lambda: by_shap(cutting), cut=True)),
        ("long texts", "captum", "all token ids", tried(by_captum)),
        ("long texts", "lime", "a function that truncates", tried(by_lime, cut=True)),
        ("long texts", "interpreto", "`KernelShap(model, tokenizer)(text)`", tried(by_interpreto, cut=True)),
        ("long texts", "interpreto", "the LSTM", tried(by_interpreto_lstm)),
    ]
