"""The walk of one text: encode and bind it, run the method, test the result, and put it together."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution.attribution import Attribution, Token, Unit
from mase.attribution.evidence import Evidence
from mase.attribution.response import (
    Fit,
    Interaction,
    Note,
    Prediction,
    Response,
    error_of,
    noun_of,
    ranking,
    total_error_of,
)
from mase.defaults import AUTO, check_integer
from mase.document import Document
from mase.errors import BudgetSpentError, CapabilityError, EmptyTextError, ModelError, OptionError
from mase.evidence import MaskedPredictions, n_for_evidence, n_for_scores
from mase.links import Contrast, Output
from mase.methods import Method, describe, resolve
from mase.models.base import Binding, Model, Probe, probe_of
from mase.models.batching import UNWATCHED, Watch, ask, check_start
from mase.models.origin import identity
from mase.progress import Listener, Reporter
from mase.provenance import installed
from mase.responses import predictions
from mase.rng import generator
from mase.solve.distributions import no_scatter
from mase.solve.oracle import AUTO_QUERY, KnownScores, Oracle, QueryOptions
from mase.solve.problem import Estimate
from mase.solve.regression import Regression, together
from mase.solve.strategy import NEVER, Solution, Stopping, repeated
from mase.spaces import TokenMask
from mase.target import Question
from mase.text import Span, Tokens, Words
from mase.units.splitters import Dictionary, Splitter, Word, WordPunct, coordinates, group, members
from mase.units.splitters import Token as PerToken

_LED = (
    "the best {}s of the others may be found less well than if each had been explained alone, and their intervals are "
    "too narrow"
)
# How many words a note lists.
_LISTED = 5


def response_of(
    solution: Solution, label: str, link: str, words: Words, of_token: Ints, *, per_token: bool, against: str | None
) -> Response:
    """Return an explained response with the scores of the words and, with token coordinates, of the tokens."""
    gamma, groups = solution.estimate.gamma, members(words, of_token)
    return Response.of(
        label,
        link,
        solution.response,
        *solution.estimate.sums(groups),
        r2=solution.r2,
        r2_held_out=solution.r2_held_out,
        signed=solution.signed,
        exact=solution.exact,
        token_scores=np.where(of_token >= 0, gamma[of_token], 0.0) if per_token else None,
        against=against,
        split_half=solution.split_half,
        interactions=_of_units(solution.interactions, groups),
        total_errors=None if solution.estimate.bias is None else solution.estimate.total_errors(groups),
        effects=_effects(solution.estimate.other_effects, groups),
    )


def _effects(other_effects: Mapping[str, Estimate], groups: Sequence[Ints]) -> dict[str, tuple[float, ...]]:
    """Return the other effects of the units by name, and their standard and total errors."""
    effects: dict[str, tuple[float, ...]] = {}
    for name, estimate in other_effects.items():
        sums, errors = estimate.sums(groups)
        effects |= {name: tuple(sums.tolist()), error_of(name): tuple(errors.tolist())}
        if estimate.bias is not None:
            effects[total_error_of(name)] = tuple(estimate.total_errors(groups).tolist())
    return effects


def _of_units(interactions: Iterable[Interaction], groups: Iterable[Ints]) -> tuple[Interaction, ...]:
    """Return the interactions of pairs of units, from those of their coordinates; none if a unit has several."""
    groups = list(groups)
    if any(len(group) > 1 for group in groups):
        return ()
    unit_of = {coordinate: unit for unit, group in enumerate(groups) for coordinate in group.tolist()}
    return tuple(replace(item, units=(unit_of[item.units[0]], unit_of[item.units[1]])) for item in interactions)


def notes_of(solution: Solution, names: Sequence[str], noun: str) -> tuple[Note, ...]:
    """Return the notes of a solution and of those of the other responses; those of all have no name of a response.

    `noun` is what a unit is called.
    """
    solutions = (solution, *solution.others)
    if len(solutions) == 1:
        return solution.notes
    common = [note for note in solution.notes if all(note in other.notes for other in solutions)]
    own = [
        replace(note, response=name)
        for item, name in zip(solutions, names, strict=True)
        for note in item.notes
        if note not in common
    ]
    message = f"the rows were chosen for {names[0]}, which led; {_LED.format(noun)}"
    led = [Note("led", message)] if solution.leads else []
    return (*common, *led, *own)


def text_notes(*read: Tokens) -> tuple[Note, ...]:
    """Return the notes about what a tokenizer makes of a document, or of its windows."""
    return (*_special_notes(*read), *unread_notes(*read), *unknown_notes(*read))


def _special_notes(*read: Tokens) -> tuple[Note, ...]:
    """Return a note if pieces of a document, or of its windows, were special tokens to the model."""
    places = [
        (tokens.document.located(*span)[0].name, tokens.text[slice(*span)].strip())
        for tokens in read
        for span in tokens.special
    ]
    if not places:
        return ()
    listed = ", ".join(f"{piece!r} in {field!r}" for field, piece in dict.fromkeys(places))
    message = (
        f"the model read {listed} as special tokens of its tokenizer, and not as these characters; if that is not "
        "meant, take them out of the text"
    )
    return (Note("special-tokens", message),)


def unread_notes(*read: Tokens) -> tuple[Note, ...]:
    """Return a note if words of a document, or of its windows, have no token."""
    words = [tokens.text[slice(*span)] for tokens in read for span in tokens.unread()]
    if not words:
        return ()
    message = (
        f"the tokenizer has no token for {_listed(words)}: the model does not read such words, and they have no score"
    )
    return (Note("unread-words", message),)


def unknown_notes(*read: Tokens) -> tuple[Note, ...]:
    """Return a note if at least half of the tokens of a document, or of its windows, are unknown to the tokenizer."""
    unknown = [tokens.text[slice(*span)] for tokens in read for span in tokens.unknown()]
    n_tokens = sum(len(tokens.scored()) for tokens in read)
    if not unknown or 2 * len(unknown) < n_tokens:
        return ()
    message = (
        f"{100 * len(unknown) // n_tokens}% of the tokens are unknown to the tokenizer ({_listed(unknown)}), and the "
        "model cannot tell these apart; check that this is the tokenizer of the model, and made for such texts"
    )
    return (Note("unknown-words", message),)


def _listed(words: Sequence[str]) -> str:
    different = [*dict.fromkeys(words)]
    more = f" and {len(different) - _LISTED:,} more" if len(different) > _LISTED else ""
    return ", ".join(f"{word!r:.60}" for word in different[:_LISTED]) + more


def category_notes(document: Document) -> tuple[Note, ...]:
    """Return a note if categories are empty or white space, of which no unit is made."""
    valued = [field for field in document.fields if field.value is not None and not field.fixed]
    empty = ", ".join(repr(field.name) for field in valued if not field.text.strip())
    if not empty:
        return ()
    message = (
        f"a category that is empty was never masked and has no score: {empty}; give a category that is missing a name, "
        "such as 'none'"
    )
    return (Note("empty-category", message),)


def fit_of(solution: Solution, n_tested: int, seconds: float) -> Fit:
    """Return how well the scores describe the model, and what they cost together with `n_tested` evaluations."""
    return Fit(
        split_half=solution.split_half,
        condition=solution.condition,
        n_queries=solution.cost.n_queries + n_tested,
        n_gradients=solution.cost.n_gradients,
        seconds=seconds,
        precision=solution.precision,
    )


def tokens_of(tokens: Tokens, words: Words) -> tuple[Token, ...]:
    """Return the tokens with their spans and the indices of their words."""
    result = []
    for piece, span, word in zip(tokens.pieces, tokens.spans, words.of_token, strict=True):
        if span is None:
            result.append(Token(piece, None, None, None, None))
        else:
            field, start, end = tokens.document.located(*span)
            result.append(Token(piece, field.name, start, end, word if word >= 0 else None))
    return tuple(result)


def units_of(tokens: Tokens, words: Words) -> tuple[Unit, ...]:
    """Return the words with their spans in the fields of the document."""
    result = []
    for span in words.spans:
        field, start, end = tokens.document.located(*span)
        result.append(Unit(field.name, start, end, field.text[start:end]))
    return tuple(result)


_N_TRIAL = 8
_LEAST_REQUESTS = 2  # for the scores of a chat model: a half of the parts, and the other one

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
        batch_size: int | None = None,
    ) -> Self:
        """Encode, split and bind a text; rows that are tried are asked in batches of at most `batch_size`.

        With `within`, only what is in these spans has coordinates, and everything else stays in place.
        """
        begun = time.perf_counter()
        document.check_masks()
        tokens = model.encode(document)
        words = group(tokens, splitter, within)
        per_token = isinstance(splitter, PerToken) or method.space.per_token
        of_token = coordinates(words, per_token=per_token)
        if not (of_token >= 0).any():
            raise _without_units(document, splitter)
        if method.strategy.ranks and of_token.max() >= len(words):
            raise CapabilityError(
                f"{method.name} puts units in an order, and the places of tokens do not add up to that of a word, "
                f"expected units without parts; got units={splitter.name!r}, use units='word'"
            )
        binding = _binding(tokens, of_token, method, seed)
        probe = _bound(model, binding)
        notes: tuple[Note, ...] = ()
        n_trial = 0
        answers_only = probe.answers_only  # then a trial would tell nothing new
        if method.space.binary and is_hard(probe.start, probe.output) and not answers_only:
            answers, n_trial = ask(probe, _trial(binding), batch_size), _N_TRIAL
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
        return self.model.cheap

    @property
    def link(self) -> str | Contrast:
        """The link that is explained: that of the method, or a contrast of it."""
        return self.method.link if self.against is None else Contrast(self.method.link, self.against)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units of the document."""
        return units_of(self.tokens, self.words)

    def check_units(self, attribution: Attribution) -> None:
        """Check that an attribution of the same document has the same units."""
        if self.units != attribution.units:
            raise OptionError(
                f"the attribution has {len(attribution.units)} units, expected the {len(self.words)} units of this "
                f"explainer; explain the text with units={attribution.units_name!r}"
            )

    def masked(
        self,
        known: KnownScores,
        budget: int,
        batch_size: int | None,
        watch: Watch = UNWATCHED,
        *,
        noisy: bool = False,
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
            probe, units, labels, target, self.link, known, left, batch_size, n_asked=n_setup, watch=watch, noisy=noisy
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
            response_of(item, name, self.method.link, words, self.of_token, per_token=self.per_token, against=against)
            for item, name in zip(solutions, names, strict=True)
        )
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
            notes=(*self.probe.notes, *self.notes, *notes),
            method=settings,
            model=identity(self.model),
            seed=seed,
            versions=dict(installed()),
            truncation=self.tokens.truncation,
            evidence=evidence,
            answer=self.probe.answer,
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
        return probe_of(model, binding)
    except MemoryError as error:
        message = "the model ran out of memory on a single text; shorten the text or use a device with more memory"
        raise ModelError(message) from error


def measure(
    probe: Probe,
    method: Method,
    target: int,
    rng: np.random.Generator,
    *,
    query: QueryOptions = AUTO_QUERY,
    stopping: Stopping = NEVER,
    known: KnownScores | None = None,
    reporter: Reporter | None = None,
    others: Sequence[int] = (),
    link: str | Contrast | None = None,
    units: Sequence[Ints] | None = None,
) -> Solution:
    """Run a method on a probe and return the coefficients `(p,)`; inactive coordinates get exactly 0.

    The rows are chosen for the class `target`; `others` are further classes, which are solved from the same answers.
    The `link` is that of the method by default.

    Rows of zeros and ones whose scores are `known` are not asked again, and the scores of others are added. A stopping
    rule is about the scores of the `units`, whose coordinates are given; each has one by default. The `reporter` is
    told of batches and rounds, and what it raises ends the measurement.
    """
    strategy, p = method.strategy, len(probe.scale)
    if not stopping.never and not strategy.stops_early:
        raise stopping.unsupported(method.name)
    moving = probe.scale > 0 if strategy.needs_reference else np.ones(p, dtype=bool)
    oracle = Oracle.of(
        probe,
        method.name,
        link or method.link,
        target,
        moving,
        binary=method.space.binary,
        options=query,
        known=known,
    )
    if units is not None and max(map(len, units)) > 1:
        own = [np.flatnonzero(np.isin(oracle.active, unit)) for unit in units]
        oracle.units = tuple(unit for unit in own if len(unit))
    if reporter is not None:
        oracle.cost.listener = reporter.asked
        oracle.solved = lambda so_far: reporter.solved(lambda: _embedded(so_far(), oracle.active, p))
    if not oracle.size:
        return replace(
            _constant(oracle, p), others=tuple(_constant(replace(oracle, target=other), p) for other in others)
        )
    budget = method.budget(oracle.size, stops_early=not stopping.never)

    solve = partial(together, strategy=strategy, others=others, budget=budget, rng=rng, stopping=stopping)
    return _embedded(repeated(solve, oracle, budget, others), oracle.active, p)


def _embedded(solution: Solution, active: Ints, p: int) -> Solution:
    """Return a solution for all p coordinates."""
    return replace(
        solution,
        estimate=solution.estimate.embedded(active, p),
        interactions=tuple(
            replace(interaction, units=_at(active, interaction.units)) for interaction in solution.interactions
        ),
        others=tuple(_embedded(other, active, p) for other in solution.others),
    )


def _at(active: Ints, pair: tuple[int, int]) -> tuple[int, int]:
    """Return the coordinates of a pair among all p, from those among the active ones."""
    return int(active[pair[0]]), int(active[pair[1]])


def _constant(oracle: Oracle, p: int) -> Solution:
    note = Note(
        "constant",
        "the model knows none of these words, or each is what masks it: all scores are 0; try another reference",
    )
    return Solution(Estimate(np.zeros(p), no_scatter(p), 0.0), oracle.text, oracle.cost, (note,))


@dataclass(frozen=True, slots=True)
class Measurement:
    """The settings with which texts are measured.

    Attributes
    ----------
    method, splitter, query, stopping, seed
        As of the `mase.Explainer`.
    n_tested
        Number of units whose evidence is paid from the budget.
    extra
        Further settings to record, by name.
    """

    method: Method
    splitter: Splitter
    query: QueryOptions
    stopping: Stopping
    seed: int
    n_tested: int
    extra: Mapping[str, Any]

    def settings(self, method: Method) -> dict[str, Any]:
        """Return all settings that decide the scores by a method, as plain JSON types."""
        return describe(method) | {
            "units": self.splitter.name,
            "tolerance": self.stopping.tolerance,
            "stable_top": self.stopping.stable_top,
            "confidence": self.stopping.confidence,
            "precision": self.query.precision,
            **({"evidence": self.n_tested} if self.n_tested else {}),
            **self.extra,
        }

    def budget(self, probe: Probe) -> int:
        """Return the number of samples for the coordinates of a document that are not constant."""
        return self.method.budget(_n_coordinates(probe), stops_early=not self.stopping.never)

    def attribution(
        self, bound: BoundText, listener: Listener | None = None, *, tests: bool = True, stream: str = ""
    ) -> Attribution:
        """Solve for the scores of a bound text, test its best units on the model, and return both.

        Parameters
        ----------
        bound
            The text.
        listener
            Is told of batches and rounds; None for nobody.
        tests
            Whether to gather the evidence now. Its part of the budget is kept free in any case.
        stream
            Name of a random stream of its own, for a part of a document.
        """
        n_samples = self.budget(bound.probe)
        settings = self._described(bound, n_samples)
        report = None if listener is None else self._reporter(bound, listener, settings, n_samples)
        known = KnownScores() if tests and self.n_tested else None
        solution = self._solved(bound, n_samples, known, report, stream)
        if known is None:
            return bound.attribution(solution, settings, self.seed)
        n_rows = n_for_evidence(n_samples, self.n_tested, **_few(bound.probe))
        batch_size, codes = self.query.rows, {note.code for note in solution.notes}
        if "batch-dependent" in codes:  # the rows were asked in batches first
            known, batch_size = KnownScores(), 1
        noisy = "not-deterministic" in codes and not bound.probe.answers_only
        tested = bound.masked(known, n_rows, batch_size, report or UNWATCHED, noisy=noisy)
        try:
            return bound.attribution(solution, settings, self.seed, tested, self.n_tested)
        except BudgetSpentError as error:
            told = any(note.code == "budget-spent" for note in solution.notes)
            untested = solution if told else solution.noted(Note("budget-spent", f"{error}; there is no evidence"))
            return bound.attribution(untested, settings, self.seed)

    def _reporter(self, bound: BoundText, listener: Listener, settings: Mapping[str, Any], n_samples: int) -> Reporter:
        """Return what tells the listener of batches and rounds."""
        interim = partial(bound.attribution, settings=settings, seed=self.seed)
        n_rows = 2 ** _n_coordinates(bound.probe) if self.method.space.binary else n_samples
        return Reporter(listener, interim, min(n_samples, n_rows), bound.probe.n_setup)

    def _solved(
        self, bound: BoundText, n_samples: int, known: KnownScores | None, report: Reporter | None, stream: str
    ) -> Solution:
        """Return the solution from the part of the samples that is for the scores.

        Models that cost little are asked on where no place is certain.
        """
        probe, most, stopping = bound.probe, n_samples, self.stopping
        asks_on = self.method.n_samples == AUTO and stopping.never
        if asks_on and bound.cheap and _focuses(self.method):
            at_first = n_for_scores(n_samples, self.n_tested) - bound.n_trial
            most, stopping = self.method.rule.most, Stopping(certain_place=max(1, at_first))
        n_reserved = bound.n_trial + probe.n_reserved
        left = n_for_scores(most, self.n_tested, **_few(probe)) - n_reserved
        if probe.answers_only and left < _LEAST_REQUESTS <= most:
            raise OptionError(
                f"n_samples is {most:,}, but {most - left:,} requests are for the whole text and to test the scores, "
                f"expected at least {most - left + _LEAST_REQUESTS:,}"
            )
        for_scores = max(1, left)
        first, *others = bound.targets
        return measure(
            probe,
            replace(bound.method, n_samples=for_scores),
            first,
            generator(self.seed, bound.tokens.document.key + stream),
            query=self.query,
            stopping=stopping,
            known=known,
            reporter=report,
            others=others,
            link=bound.link,
            units=members(bound.words, bound.of_token),
        )

    def _described(self, bound: BoundText, n_samples: int) -> dict[str, Any]:
        """Return the settings of one explanation; a sigma that is a function of p is evaluated."""
        probe = bound.probe
        method, design = replace(bound.method, n_samples=n_samples), self.method.gaussian
        if design is not None and callable(design.sigma):
            method = resolve(method, sigma=design.sigma(_n_coordinates(probe)))
        return self.settings(method) | {"batch_size": self.query.rows or probe.batch_size}


def _few(probe: Probe) -> dict[str, int]:
    """Return the option of a budget in which every request counts."""
    return {"few": 0} if probe.answers_only else {}


def _focuses(method: Method) -> bool:
    """Return whether the rows of a method go by the scores so far, so that more of them make these more certain."""
    return isinstance(method.strategy, Regression) and method.strategy.design.n_draws is not None


def _n_coordinates(probe: Probe) -> int:
    """Return the number of coordinates that change the input."""
    return int(np.count_nonzero(probe.scale))


_WORDS = Word()


def check_zoom(zoom: int, splitter: Splitter) -> int:
    """Return the number of units to zoom in to."""
    zoom = check_integer("zoom", zoom, 0)
    if zoom and isinstance(splitter, Word | WordPunct | PerToken | Dictionary):
        raise OptionError(f"zoom is {zoom} with units={splitter.name!r}, expected larger units, as in units='sentence'")
    return zoom


def zoomed(bound: BoundText, attribution: Attribution, zoom: int, measurement: Measurement) -> Attribution:
    """Return the attribution of the words in the units of largest absolute score.

    It is of the same classes, by the same method, and from samples of its own.

    Parameters
    ----------
    bound, found
        The document as it was explained, and its attribution.
    zoom
        Number of units.
    measurement
        How the document was measured.
    """
    within = [bound.words.spans[unit] for unit in ranking(np.abs(attribution.scores))[:zoom]]
    document, question = bound.tokens.document, Question.about(bound.model.labels, bound.targets, bound.against)
    inner = BoundText.of(bound.model, bound.method, document, question, _WORDS, seed=attribution.seed, within=within)
    extra = {name: value for name, value in measurement.extra.items() if name != "zoom"}
    return replace(measurement, splitter=_WORDS, n_tested=0, extra=extra).attribution(inner, stream="\0zoom")
