"""The pipeline: text -> tokens -> probe -> design -> query -> estimator -> attribution."""

import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, overload

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Attribution, Fit, Prediction, Token, Word
from mase.covariance import covariance
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError, OptionError
from mase.links import Link, probabilities, respond
from mase.methods import Method, describe, resolve
from mase.models import adapt
from mase.models.protocol import Binding, GradientProbe, Model, Probe
from mase.quality import adjusted_r2, condition, remarks, split_half
from mase.query import ask, ask_gradients, check_batch_size
from mase.registry import unknown
from mase.rng import generator, stream_key
from mase.sample import Estimate, Law, Sample
from mase.text import Tokens, Words, group_words

__all__ = ["Explainer", "Measurement", "explain", "measure"]

Granularity = Literal["word", "token"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Coefficients of one probe for one target, with their fit: the part of an explanation that knows nothing of text."""

    estimate: Estimate
    response: float
    fit: Fit


def measure(
    probe: Probe, method: Method, target: int, rng: np.random.Generator, batch_size: int | None = None
) -> Measurement:
    """Ask a probe as a method says and solve for the coefficients `(p,)`; coordinates that move nothing get exactly 0.

    Raises
    ------
    CapabilityError
        If the method needs gradients and the probe has none.
    """
    began = time.perf_counter()
    active = np.flatnonzero(probe.widths > 0)
    response = float(respond(probe.start, probe.output, method.link, target)[0])
    probability = float(probabilities(probe.start, probe.output)[0, target])
    if not len(active):
        still = Estimate(np.zeros(len(probe.widths)), np.zeros((len(probe.widths),) * 2), 0.0, "no word differs from the reference")
        return Measurement(still, response, Fit(None, None, None, probe.n_setup, 0, time.perf_counter() - began))
    law = Law(method.center, covariance(_sigma(method, len(active)), probe.widths[active]))
    sample = method.design.draw(rng, method.n_samples, law)
    coordinates = np.ones((len(sample.coordinates), len(probe.widths)))
    coordinates[:, active] = sample.coordinates
    responses, gradients = _responses(probe, method, target, coordinates, batch_size)
    base, asked = _base(probe, method, sample, target, response)
    problem = sample.problem(responses, base)
    if gradients is not None:
        averaged = (gradients[0::2] + gradients[1::2]) / 2 if sample.paired else gradients
        problem = replace(problem, gradients=averaged[:, active])
    estimate = method.estimator.fit(problem)
    r2 = adjusted_r2(sample, responses, estimate)
    halves = split_half(problem, method.estimator)
    notes = remarks(
        n_rows=len(responses), n_coordinates=len(active), responses=responses, coordinates=sample.coordinates,
        probability=probability, link=method.link, r2=r2, halves=halves, estimate=estimate, binary=method.space.binary,
        gradients=method.estimator.needs_gradients,
    )  # fmt: skip
    n_gradients = 0 if gradients is None else len(gradients)
    fit = Fit(
        r2, halves, condition(problem), probe.n_setup + asked + len(responses), n_gradients, time.perf_counter() - began, tuple(notes)
    )
    return Measurement(_embedded(estimate, active, len(probe.widths)), response, fit)


def _sigma(method: Method, p: int) -> Any:
    return method.sigma(p) if callable(method.sigma) else method.sigma


def _responses(
    probe: Probe, method: Method, target: int, coordinates: Floats, batch_size: int | None
) -> tuple[Floats, Floats | None]:
    """Return responses `(n,)` and, for white-box estimators, their derivatives `(n, p)`."""
    if not method.estimator.needs_gradients:
        return respond(ask(probe, coordinates, batch_size), probe.output, method.link, target), None
    if not isinstance(probe, GradientProbe):
        raise CapabilityError(f"method {method.name!r} needs the model's gradients, which this model does not give; use method='mase'")
    scores, gradients = ask_gradients(probe, coordinates, method.link, target, batch_size or probe.batch_size)
    return respond(scores, probe.output, method.link, target), gradients


def _base(probe: Probe, method: Method, sample: Sample, target: int, response: float) -> tuple[float | None, int]:
    """Return the response at the centre of the law and the number of evaluations that it took."""
    if sample.center == 1.0:
        return response, 0
    if sample.center is None or sample.paired or not method.estimator.needs_base:
        return None, 0
    scores = probe.scores(np.full((1, len(probe.widths)), sample.center), np.zeros(1, dtype=np.int64))
    return float(respond(scores, probe.output, method.link, target)[0]), 1


def _embedded(estimate: Estimate, active: Ints, p: int) -> Estimate:
    if len(active) == p:
        return estimate
    gamma, spread = np.zeros(p), np.zeros((p, p))
    gamma[active], spread[np.ix_(active, active)] = estimate.gamma, estimate.covariance
    return Estimate(gamma, spread, estimate.dof, estimate.remark)


class Explainer:
    """Explains the predictions of one model, always in the same way.

    Parameters
    ----------
    model
        A name or folder (see `mase.models.load`), a Hugging Face classifier (with its tokenizer), a function
        `list[str] -> (n, k)`, or an adapter from `mase.models`.
    tokenizer
        The tokenizer of a Hugging Face model.
    method
        A row of `mase.METHODS` by name, or a `Method`. On a model without embeddings "mase" stands for "mase-mask".
    n_samples, sigma, center, reference, link, design, estimator, space
        Replace that part of the method; None keeps it. `sigma` is a standard deviation of the coordinates, p of them, a
        covariance `(p, p)` or a function of p that returns one of these. `reference` is "zero", "mask", "unk" or "pad".
    seed
        Seed of the perturbations. Same seed and text: same scores, whatever the order of texts.
    granularity
        "word": one coordinate per word; "token": one per token, word scores being their sums.
    batch_size
        Rows per forward pass, or "auto".
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
        batch_size: int | Literal["auto"] = "auto",
        show_progress: bool = False,
    ) -> None:
        if granularity not in ("word", "token"):
            raise OptionError(f"granularity is {granularity!r}, expected 'word' or 'token'")
        stream_key(seed, "")
        self.model: Model = adapt(model, tokenizer)
        overrides = {"n_samples": n_samples, "sigma": sigma, "center": center, "reference": reference, "link": link}
        self.method = _for_model(self.model, method, overrides | {"design": design, "estimator": estimator, "space": space})
        self.seed, self.granularity = seed, granularity
        self.batch_size = check_batch_size(batch_size)
        self.show_progress = show_progress

    @overload
    def __call__(self, texts: str, *, target: str | int | None = None) -> Attribution: ...

    @overload
    def __call__(self, texts: Iterable[str], *, target: str | int | None = None) -> list[Attribution]: ...

    def __call__(
        self, texts: str | Iterable[str], *, target: str | int | None = None
    ) -> Attribution | list[Attribution]:
        """Return the attribution of one text, or a list of them for several.

        `target` is a label or index; the predicted class by default.

        Raises
        ------
        EmptyTextError, InvalidTextError
            If a text has no word or is not valid Unicode.
        ModelError
            If the model raises or answers with something else than finite class scores.
        """
        if isinstance(texts, str):
            return self._explain(texts, target)
        if not isinstance(texts, Iterable) or isinstance(texts, bytes):
            raise InvalidTextError(f"text is of type {type(texts).__name__}, expected str or a list of str")
        items = list(texts)
        if not self.show_progress:
            return [self._explain(text, target) for text in items]
        from rich.console import Console
        from rich.progress import track

        return [self._explain(text, target) for text in track(items, "explaining", console=Console(stderr=True))]

    def _explain(self, text: str, target: str | int | None) -> Attribution:
        began = time.perf_counter()
        tokens = self.model.encode(text)
        words = group_words(tokens)
        per_token = self.granularity == "token" or self.method.space.per_token
        of_token = _coordinates(tokens, words, per_token=per_token)
        p = int(of_token.max()) + 1
        if p == 0:
            raise EmptyTextError(f"text {text[:40]!r} has only special tokens for the model, expected at least one word")
        level = self.method.sigma if np.isscalar(self.method.sigma) else 0.0
        if self.method.space.noisy and not level:
            raise OptionError("sigma is not a number, expected one standard deviation for a space with noise in all directions")
        binding = Binding(tokens, self.method.space, of_token, p, stream_key(self.seed, text), float(level))
        probe = self.model.bind(binding)
        chance = probabilities(probe.start, probe.output)[0]
        index = _target(self.model.labels, target, chance)
        found = measure(probe, self.method, index, generator(self.seed, text), self.batch_size)
        fit = replace(found.fit, seconds=time.perf_counter() - began)
        return Attribution(
            text=text,
            prediction=_prediction(self.model.labels, chance),
            target=self.model.labels[index],
            target_probability=float(chance[index]),
            link=self.method.link,
            response=found.response,
            word_scores=_words(words, _sums(found.estimate, of_token, words), text),
            tokens=_tokens(tokens, words, found.estimate.gamma if per_token else None, of_token),
            fit=fit,
            method=describe(self.method) | {
                "granularity": "token" if per_token else "word", "batch_size": self.batch_size or probe.batch_size,
            },
            model={"name": self.model.name, "sha256": self.model.sha256},
            seed=self.seed,
            versions=dict(_installed()),
            truncation=tokens.truncation,
        )  # fmt: skip


def explain(text: str, model: Any = "lstm-imdb", tokenizer: Any = None, *, target: str | int | None = None, **options: Any) -> Attribution:
    """Return the attribution of one text: `Explainer(model, tokenizer, **options)(text, target=target)`."""
    return Explainer(model, tokenizer, **options)(text, target=target)


def _for_model(model: Model, method: str | Method, overrides: dict[str, Any]) -> Method:
    """Return the method with overrides, or the row that takes its place without embeddings, its reference resolved."""
    chosen = resolve(method)
    if not model.has_embeddings and not chosen.space.binary:
        if chosen.without_embeddings is None:
            raise CapabilityError(f"method {chosen.name!r} needs an embedding layer, which {model.name} does not have; use 'mase-mask'")
        chosen = resolve(chosen.without_embeddings)
    chosen = resolve(chosen, **overrides)
    wanted = chosen.space.reference
    if wanted is None:
        return chosen
    if wanted == "auto":
        return resolve(chosen, reference=model.references[0])
    if wanted not in model.references:
        raise CapabilityError(f"reference is {wanted!r}, expected one that {model.name} has: {', '.join(model.references)}")
    return chosen


def _coordinates(tokens: Tokens, words: Words, *, per_token: bool) -> Ints:
    """Return the coordinate of each token `(t,)`, -1 for fixed tokens and tokens of no word."""
    of_word = np.array(words.of_token, dtype=np.int64)
    if not per_token:
        return of_word
    free = of_word >= 0
    return np.where(free, np.cumsum(free) - 1, -1)


def _target(labels: Sequence[str], target: str | int | None, chance: Floats) -> int:
    """Return the index of the target: a label, an index (also as a string that is no label), or the predicted class."""
    if target is None:
        return int(np.argmax(chance))
    if isinstance(target, str) and target in labels:
        return labels.index(target)
    if isinstance(target, str) and not target.lstrip("-").isdecimal():
        raise unknown("target", target, list(labels))
    if isinstance(target, bool) or not isinstance(target, int | str | np.integer):
        raise OptionError(f"target is of type {type(target).__name__}, expected a label, an index or None")
    index = int(target)
    if not 0 <= index < len(labels):
        raise OptionError(f"target is {index}, expected an index from 0 to {len(labels) - 1} or one of the labels")
    return index


def _sums(estimate: Estimate, of_token: Ints, words: Words) -> tuple[Floats, Floats]:
    """Return scores `(w,)` and standard errors `(w,)` of the words: sums over their coordinates."""
    members = np.zeros((len(words), len(estimate.gamma)))
    inside = of_token >= 0
    members[np.array(words.of_token)[inside], of_token[inside]] = 1.0
    variances = np.einsum("wp,pq,wq->w", members, estimate.covariance, members, optimize=True)
    return members @ estimate.gamma, np.sqrt(np.maximum(variances, 0.0))


def _words(words: Words, scored: tuple[Floats, Floats], text: str) -> tuple[Word, ...]:
    rows = zip(words.spans, scored[0].tolist(), scored[1].tolist(), strict=True)
    return tuple(Word(text[start:end], start, end, score, error) for (start, end), score, error in rows)


def _tokens(tokens: Tokens, words: Words, gamma: Floats | None, of_token: Ints) -> tuple[Token, ...]:
    found = []
    for piece, span, word, coordinate in zip(tokens.pieces, tokens.spans, words.of_token, of_token.tolist(), strict=True):
        score = 0.0 if coordinate < 0 else None if gamma is None else float(gamma[coordinate])
        start, end = (None, None) if span is None else span
        found.append(Token(piece, start, end, word if word >= 0 else None, score))
    return tuple(found)


def _prediction(labels: Sequence[str], chance: Floats) -> Prediction:
    index = int(np.argmax(chance))
    return Prediction(labels[index], index, float(chance[index]), dict(zip(labels, chance.tolist(), strict=True)))


@cache
def _installed() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("mase-xai", "numpy", "scipy", "torch", "transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
