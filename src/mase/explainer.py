"""The pipeline: text -> tokens -> probe -> design -> query -> estimator -> attribution."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Attribution, Field, Prediction, Response, Token, Unit
from mase.coordinates import coordinates, members
from mase.errors import CapabilityError, EmptyTextError, MaseError, ModelError, OptionError
from mase.links import Link, probabilities
from mase.measure import Effort, measure
from mase.methods import Method, describe, resolve
from mase.models import adapt
from mase.models.batching import check_batch_size, check_start
from mase.models.protocol import Binding, Model, Probe
from mase.provenance import installed
from mase.registry import unknown
from mase.regression.precision import Precision
from mase.regression.stopping import Stopping
from mase.rng import generator, stream_key, untouched
from mase.text import Tokens, Words, check_text, check_texts, group_words

__all__ = ["Explainer", "Granularity", "explain"]

Granularity = Literal["word", "token"]

# Name of the only field of a plain text.
_FIELD = "text"


class Explainer:
    """Explains the predictions of one model, always in the same way.

    Parameters
    ----------
    model
        A name or folder (see `mase.models.load`), a Hugging Face classifier (with its tokenizer), a function
        `list[str] -> (n, k)`, a fitted estimator of scikit-learn that reads texts, or an adapter from `mase.models`.
    tokenizer
        The tokenizer of a Hugging Face model.
    method
        A row of `mase.METHODS` by name, or a `Method`. On a model without embeddings "mase-nlgp" stands for
        "mase-mask".
    n_samples, sigma, center, reference, link, design, estimator, space
        Replace that part of the method; None keeps it. Parts are values or names, with settings as in
        "focused(rounds=3)". `sigma` is a standard deviation of the coordinates, p of them, a covariance `(p, p)` or a
        function of p that returns one of these. `reference` is "zero", "mask", "unk" or "pad".
    seed
        Seed of the perturbations. Same seed, text and settings: same scores, whatever the order of texts.
    granularity
        "word": one coordinate per word; "token": one per token, word scores being their sums.
    tolerance, stable_top
        Stop before `n_samples` as soon as the relative standard error is at most `tolerance`, or the set of the
        `stable_top` highest words is certain (see `mase.regression.stopping.Stopping`).
    batch_size
        Rows per forward pass, or "auto". The same settings on the same machine and versions give the same scores to the
        last bit; another size changes them by rounding (up to 3e-7 of the largest, with one row at a time).
    precision
        "float32", or "bfloat16": half precision where it is fast and a trial shows it precise (see
        `mase.measure.Effort`).
    show_progress
        Whether a list of texts shows a progress bar on stderr.

    Examples
    --------
    >>> explainer = Explainer(lambda texts: [[0.5, 0.5] for _ in texts])
    >>> explainer("all is well").scores.tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        method: str | Method = "mase",
        n_samples: int | None = None,
        seed: int = 0,
        sigma: Any = None,
        center: float | None = None,
        reference: str | None = None,
        link: Link | None = None,
        design: Any = None,
        estimator: Any = None,
        space: Any = None,
        granularity: Granularity = "word",
        tolerance: float | None = None,
        stable_top: int | None = None,
        batch_size: int | Literal["auto"] = "auto",
        precision: Precision = "float32",
        show_progress: bool = False,
    ) -> None:
        if granularity not in ("word", "token"):
            raise OptionError(f"granularity is {granularity!r}, expected 'word' or 'token'")
        stream_key(seed, "")
        self.model: Model = adapt(model, tokenizer)
        overrides = {"n_samples": n_samples, "sigma": sigma, "center": center, "reference": reference, "link": link}
        self.method = _for_model(
            self.model, method, overrides | {"design": design, "estimator": estimator, "space": space}
        )
        self.seed, self.granularity = int(seed), granularity
        self.effort = Effort(check_batch_size(batch_size), Stopping(tolerance, stable_top), precision)
        self.show_progress = show_progress

    @overload
    def __call__(self, texts: str, *, target: str | int | None = None) -> Attribution: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, texts: Iterable[str], *, target: str | int | None = None) -> list[Attribution]: ...

    def __call__(
        self, texts: str | Iterable[str], *, target: str | int | None = None
    ) -> Attribution | list[Attribution]:
        """Return the attribution of one text (a str), or a list of them for several (a list, a generator or a Series of str).

        `target` is a label or index; the predicted class by default.

        Raises
        ------
        EmptyTextError
            If a text has no word.
        InvalidTextError
            If a text is no str or not valid Unicode. Pairs of sentences, mappings and tables are no texts.
        ModelError
            If the model raises or answers with something else than finite class scores.
        """
        if isinstance(texts, str):
            return self._explain(texts, target)
        return list(self.stream(texts, target=target))

    def stream(self, texts: Iterable[str], *, target: str | int | None = None) -> Iterator[Attribution]:
        """Yield the attributions one by one, for more texts than memory holds; an error carries the number of its text.

        Raises
        ------
        MaseError
            As for one text; what was yielded before stays with the caller.
        InvalidTextError
            If it is one text and not several, or no texts at all.
        """
        return self._streamed(check_texts(texts), target)

    def _streamed(self, texts: Iterable[str], target: str | int | None) -> Iterator[Attribution]:
        for number, text in enumerate(self._tracked(texts)):
            try:
                found = self._explain(text, target)
            except MaseError as error:
                error.add_note(f"at text number {number}, counted from 0")
                raise
            yield found

    def _tracked(self, texts: Iterable[str]) -> Iterable[str]:
        if not self.show_progress:
            return texts
        from rich.console import Console
        from rich.progress import track

        return track(texts, "explaining", console=Console(stderr=True))

    def _explain(self, text: str, target: str | int | None) -> Attribution:
        with untouched():
            return self._explained(check_text(text), target)

    def _explained(self, text: str, target: str | int | None) -> Attribution:
        began = time.perf_counter()
        tokens = self.model.encode(text)
        words = group_words(tokens)
        per_token = self.granularity == "token" or self.method.space.per_token
        of_token = coordinates(words, per_token=per_token)
        try:
            probe = self.model.bind(self._binding(tokens, of_token))
        except MemoryError as error:
            raise ModelError(
                "the model ran out of memory on a single text; shorten it or use a larger device"
            ) from error
        chance = probabilities(check_start(probe.start), probe.output)[0]
        index = _target(self.model.labels, target, chance)
        method = _with_sigma(self.method, probe)
        found = measure(probe, method, index, generator(self.seed, text), self.effort)
        leads = () if found.lead is None else (found.lead.note(tokens, words, of_token),)
        response = Response.of(
            self.model.labels[index],
            method.link,
            found.response,
            *found.estimate.sums(members(words, of_token)),
            r2=found.r2,
            signed=getattr(method.procedure, "signed", True),
            token_scores=np.where(of_token >= 0, found.estimate.gamma[of_token], 0.0) if per_token else None,
        )
        return Attribution(
            document=(Field(_FIELD, text),),
            units=tuple(Unit(_FIELD, start, end, text[start:end]) for start, end in words.spans),
            responses=(response,),
            tokens=_tokens(tokens, words),
            prediction=Prediction.of(self.model.labels, chance),
            fit=replace(found.fit, seconds=time.perf_counter() - began),
            notes=(*found.notes, *leads),
            method=describe(method) | self._conditions(probe, per_token=per_token),
            model={"name": self.model.name, "sha256": self.model.sha256},
            seed=self.seed,
            versions=dict(installed()),
            truncation=tokens.truncation,
        )

    def _binding(self, tokens: Tokens, of_token: Ints) -> Binding:
        n_coordinates = int(of_token.max()) + 1
        if n_coordinates == 0:
            shown = tokens.text[:40]
            raise EmptyTextError(f"text {shown!r} has only special tokens for the model, expected at least one word")
        sigma = np.asarray(self.method.sigma)
        level = float(sigma) if sigma.ndim == 0 and sigma.dtype.kind in "fiu" else 0.0
        if self.method.space.noisy and not level:
            raise OptionError(
                "sigma is not a number, expected one standard deviation for a space with noise in all directions"
            )
        return Binding(tokens, self.method.space, of_token, n_coordinates, stream_key(self.seed, tokens.text), level)

    def _conditions(self, probe: Probe, *, per_token: bool) -> dict[str, Any]:
        """Return the settings that are not part of the method, for provenance."""
        return {
            "granularity": "token" if per_token else "word",
            "batch_size": self.effort.batch_size or probe.batch_size,
            "tolerance": self.effort.stopping.tolerance,
            "stable_top": self.effort.stopping.stable_top,
            "precision": self.effort.precision,
        }


def explain(
    text: str, model: Any = "lstm-imdb", tokenizer: Any = None, *, target: str | int | None = None, **options: Any
) -> Attribution:
    """Return the attribution of one text: `Explainer(model, tokenizer, **options)(text, target=target)`."""
    return Explainer(model, tokenizer, **options)(text, target=target)


def _for_model(model: Model, method: str | Method, overrides: dict[str, Any]) -> Method:
    """Return the method with overrides, or the row that takes its place without embeddings, its reference resolved."""
    chosen = resolve(method)
    if not model.has_embeddings and not chosen.space.binary:
        if chosen.without_embeddings is None:
            raise CapabilityError(
                f"method {chosen.name!r} needs an embedding layer, which {model.name} does not have; use 'mase'"
            )
        chosen = resolve(chosen.without_embeddings)
    chosen = resolve(chosen, **overrides)
    wanted = chosen.space.reference
    if wanted is None:
        return chosen
    if wanted == "auto":
        return resolve(chosen, reference=model.references[0])
    if wanted not in model.references:
        raise CapabilityError(
            f"reference is {wanted!r}, expected one that {model.name} has: {', '.join(model.references)}"
        )
    return chosen


def _with_sigma(method: Method, probe: Probe) -> Method:
    """Return the method with the value of a sigma that is a function of the number of coordinates that move."""
    if not callable(method.sigma):
        return method
    return replace(method, sigma=method.sigma(int((probe.widths > 0).sum())))


def _tokens(tokens: Tokens, words: Words) -> tuple[Token, ...]:
    """Return the tokens with their spans and the indices of their words."""
    found = []
    for piece, span, word in zip(tokens.pieces, tokens.spans, words.of_token, strict=True):
        start, end = (None, None) if span is None else span
        found.append(Token(piece, None if span is None else _FIELD, start, end, word if word >= 0 else None))
    return tuple(found)


def _target(labels: Sequence[str], target: str | int | None, chance: Floats) -> int:
    """Return the index of the target: a label, an index (also as a string that is no label), or the predicted class."""
    if target is None:
        return int(np.argmax(chance))
    if isinstance(target, str) and target in labels:
        return labels.index(target)
    if isinstance(target, str) and not re.fullmatch(r"-?[0-9]+", target):
        raise unknown("target", target, list(labels))
    if isinstance(target, bool) or not isinstance(target, int | str | np.integer):
        raise OptionError(f"target is of type {type(target).__name__}, expected a label, an index or None")
    index = int(target)
    if not 0 <= index < len(labels):
        raise OptionError(f"target is {index}, expected an index from 0 to {len(labels) - 1} or one of the labels")
    return index
