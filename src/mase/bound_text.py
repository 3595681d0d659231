"""A text bound to a model for one method: what is measured, and what its attribution is made of."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Attribution, Evidence, Note, Prediction, Unit
from mase.attribution.noun import noun_of
from mase.coordinates import coordinates, members
from mase.document import Document
from mase.errors import EmptyTextError, ModelError, OptionError
from mase.evidence import MaskedPredictions
from mase.links import Contrast, Output, predictions
from mase.method import Method
from mase.models.batching import UNWATCHED, Watch, ask, check_start
from mase.models.identity import identity
from mase.models.optional import AnsweredProbe
from mase.models.protocol import Binding, Model, Probe
from mase.provenance import installed
from mase.regression.known_scores import KnownScores
from mase.regression.strategy import Solution
from mase.results import category_notes, fit_of, notes_of, response_of, text_notes, tokens_of, units_of
from mase.spaces.token_mask import TokenMask
from mase.target import Question
from mase.text import Span, Tokens, Words
from mase.units import Splitter
from mase.units.grouping import group
from mase.units.token import Token

__all__ = ["BoundText"]

_N_TRIAL = 8
_HARD = Note(
    "hard-labels",
    "the model answers only 0 and 1, not how likely a class is: the scores explain the share of masked copies with the "
    "label, between 0 and 1; a model that returns probabilities tells more",
)


@dataclass(frozen=True, slots=True)
class BoundText:
    """A text that is bound to a model for one method and one question.

    Attributes
    ----------
    of_token
        The coordinate of each token `(t,)`; -1 for a token that stays fixed.
    prediction
        Prediction for the text itself.
    targets
        Indices of the explained classes, the leading one first.
    against
        Index of the class that they are compared with; None for no contrast.
    notes
        What was noticed when the text was bound.
    n_trial
        Number of evaluations that this took.
    begun
        When the text was begun, for the time that the explanation takes.
    """

    model: Model
    method: Method
    tokens: Tokens
    words: Words
    of_token: Ints
    per_token: bool
    binding: Binding
    probe: Probe
    prediction: Prediction
    targets: tuple[int, ...]
    against: int | None
    notes: tuple[Note, ...] = ()
    n_trial: int = 0
    begun: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(
        cls,
        model: Model,
        method: Method,
        document: Document,
        question: Question,
        splitter: Splitter,
        *,
        seed: int,
        within: Sequence[Span] | None = None,
    ) -> Self:
        """Encode, split and bind a text.

        With `within`, only what is in these spans has coordinates, and everything else stays in place.

        Raises
        ------
        EmptyTextError
            If the text has no unit.
        UnitsError
            If a function of the user does not split the text.
        OptionError, UnknownNameError
            If there is no such class, or the method needs a single standard deviation.
        ModelError
            If the model cannot be bound to the text.
        """
        begun = time.perf_counter()
        document.check_masks()
        tokens = model.encode(document)
        words = group(tokens, splitter, within)
        per_token = isinstance(splitter, Token) or method.space.per_token
        of_token = coordinates(words, per_token=per_token)
        if not (of_token >= 0).any():
            raise _without_units(document, splitter)
        binding = _binding(tokens, of_token, method, seed)
        probe = _bound(model, binding)
        notes: tuple[Note, ...] = ()
        n_trial = 0
        if method.space.binary and is_hard(probe.start, probe.output):
            answers, n_trial = ask(probe, _trial(binding)), _N_TRIAL
            if is_hard(answers, probe.output):
                method, notes = replace(method, link="probability"), (_HARD,)
        prediction = _prediction(model.labels, check_start(probe.start), probe.output)
        targets = question.indices(model.labels, prediction.ranked)
        against = question.against_index(model.labels)
        return cls(
            model=model,
            method=method,
            tokens=tokens,
            words=words,
            of_token=of_token,
            per_token=per_token,
            binding=binding,
            probe=probe,
            prediction=prediction,
            targets=targets,
            against=against,
            notes=notes,
            n_trial=n_trial,
            begun=begun,
        )

    @property
    def cheap(self) -> bool:
        """Whether models of this kind mostly cost little, so that more may be asked where no place is certain."""
        return bool(getattr(self.model, "cheap", False))

    @property
    def link(self) -> str | Contrast:
        """The link that is explained: that of the method, or a contrast of it."""
        return self.method.link if self.against is None else Contrast(self.method.link, self.against)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units of the document."""
        return units_of(self.tokens, self.words)

    def check_units(self, found: Attribution) -> None:
        """Check that an attribution of the same document has the same units.

        Raises
        ------
        OptionError
            If it does not.
        """
        if self.units != found.units:
            raise OptionError(
                f"the attribution has {len(found.units)} units, expected the {len(self.words)} units of this "
                f"explainer; explain the text with units={found.method.get('units')!r}"
            )

    def masked(
        self, known: KnownScores, budget: int, batch_size: int | None, watch: Watch = UNWATCHED
    ) -> MaskedPredictions:
        """Return the predictions of the model with units masked, from at most `budget` evaluations."""
        probe, n_setup = self.probe, 0
        if not self.method.space.binary:
            reference = self.method.space.reference or self.model.references[0]
            probe = _bound(self.model, replace(self.binding, space=TokenMask(reference), sigma=0.0))
            n_setup = probe.n_setup
            watch.asked(n_setup)
        units, left = members(self.words, self.of_token), budget - n_setup
        labels, target = self.model.labels, self.targets[0]
        return MaskedPredictions(
            probe, units, labels, target, self.link, known, left, batch_size, n_asked=n_setup, watch=watch
        )

    def attribution(
        self,
        solution: Solution,
        settings: Mapping[str, Any],
        seed: int,
        tested: MaskedPredictions | None = None,
        n_best: int = 0,
    ) -> Attribution:
        """Return the attribution of a solution, with evidence about the `n_best` units if they are `tested`.

        A solution so far is that of the leading response alone.
        """
        words, solutions = self.words, (solution, *solution.others)
        names = [self.model.labels[target] for target in self.targets[: len(solutions)]]
        against = None if self.against is None else self.model.labels[self.against]
        responses = tuple(
            response_of(one, name, self.method.link, words, self.of_token, per_token=self.per_token, against=against)
            for one, name in zip(solutions, names, strict=True)
        )
        answered = self.probe if isinstance(self.probe, AnsweredProbe) else None
        of_text = (*text_notes(self.tokens), *category_notes(self.tokens.document))
        notes = (*of_text, *notes_of(solution, names, noun_of(settings)))
        evidence: Evidence | None = None if tested is None else tested.evidence(responses[0].order, n_best)
        return Attribution(
            document=self.tokens.document.fields,
            units=self.units,
            responses=responses,
            tokens=tokens_of(self.tokens, words),
            prediction=self.prediction,
            fit=fit_of(
                solution, self.n_trial + (0 if tested is None else tested.n_asked), time.perf_counter() - self.begun
            ),
            notes=(*getattr(self.probe, "notes", ()), *self.notes, *notes),
            method=settings,
            model=identity(self.model),
            seed=seed,
            versions=dict(installed()),
            truncation=self.tokens.truncation,
            evidence=evidence,
            answer=answered.answer if answered else None,
        )


def _without_units(document: Document, splitter: Splitter) -> EmptyTextError:
    """Return the error that says why there is nothing to mask."""
    fixed = ", ".join(field.name for field in document.fields if field.fixed)
    where = f"outside of the fixed fields ({fixed})" if fixed else "in it"
    return EmptyTextError(
        f"text {document.text[:40]!r} has nothing {where} that is a unit by {splitter.name!r}, expected at "
        "least one unit"
    )


def _binding(tokens: Tokens, of_token: Ints, method: Method, seed: int) -> Binding:
    level = method.noise_level
    if method.space.noisy and not level:
        raise OptionError(
            "sigma is not a number, expected a single standard deviation for a space with noise in all directions"
        )
    return Binding.of(tokens, method.space, of_token, seed=seed, sigma=level)


def is_hard(scores: Floats, output: Output) -> bool:
    """Return whether all scores `(n, k)` are probabilities of exactly 0 and 1, as of a model that names a class."""
    return output.kind == "probabilities" and bool(np.isin(scores, (0.0, 1.0)).all())


def _trial(binding: Binding) -> Floats:
    """Return coordinates `(8, p)` of random halves of the words, always the same ones for a text and a seed."""
    rng = np.random.default_rng(binding.noise_key)
    return (rng.random((_N_TRIAL, binding.n_coordinates)) < 0.5).astype(np.float64)


def _prediction(labels: Sequence[str], scores: Floats, output: Output) -> Prediction:
    """Return the prediction that belongs to the scores `(1, k)` of the text itself."""
    predicted = predictions(scores, output)[0]
    if not output.has_classes:
        return Prediction.of_values(labels, predicted, ranked=output.ranked)
    return Prediction.of(labels, predicted, multilabel=output.multilabel)


def _bound(model: Model, binding: Binding) -> Probe:
    try:
        return model.bind(binding)
    except MemoryError as error:
        message = "the model ran out of memory on a single text; shorten the text or use a device with more memory"
        raise ModelError(message) from error
