"""Models that are known by a function from token ids to class scores, such as a session of ONNX Runtime."""

from collections.abc import Callable as Function
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.attribution.response import Note
from mase.document import Document, Input, check_texts
from mase.errors import CapabilityError, EmptyTextError, NonFiniteError, OptionError
from mase.links import Output
from mase.models.base import Binding, Model, Probe
from mase.models.batching import in_batches
from mase.models.description import Description, recognised
from mase.models.origin import Reopened
from mase.models.scores import (
    ExpectedOutput,
    Kind,
    Scores,
    check_keep,
    check_labels,
    check_length,
    check_outputs,
    is_sigmoid,
    recognise,
    score_labels,
    trial_scores,
)
from mase.models.tokens import Tokenizer, read, read_by, shortened
from mase.responses import predictions
from mase.rng import untouched
from mase.text import Side, Tokens

# One input: its ids, and its token types if there are any.
Row = tuple[tuple[int, ...], tuple[int, ...] | None]
SAMPLE = "this is a text of nine quite usual words"  # what the scores are is recognised by variants of it
_BATCH = 64
_BATCH_TOKENS = 8192


class TokenIds(Reopened, Model):
    """A classifier that is known by a function from ids `(b, t)` to class scores `(b, k)`.

    It is explained by masking words: their tokens are replaced by the id of "mask", "unk" or "pad", or deleted. Rows of
    one length form a batch, without padding.

    Parameters
    ----------
    run
        `run(ids, types)` returns class scores `(b, k)` of ids `(b, t)`; `types` are token types `(b, t)` or None.
    tokenizer
        From a document to tokens.
    labels
        Names of the k classes; "0", "1", ... by default.
    max_length, keep
        Longest input in tokens, and which end of a longer text the model reads: "start" or "end".
    outputs, multilabel
        What `run` returns; see `mase.models.scores.recognise`.
    last_operation
        Name of the operation that computes the scores, as `recognise` takes it; "" if it is not known.
    name
        Name for provenance.
    """

    name: str
    sha256: str | None = None
    has_embeddings = False

    def __init__(
        self,
        run: Function[[Ints, Ints | None], Any],
        tokenizer: Tokenizer,
        *,
        name: str,
        labels: Sequence[str] | None = None,
        max_length: int | None = None,
        keep: Side = "start",
        outputs: Kind = "auto",
        multilabel: bool = False,
        last_operation: str = "",
    ) -> None:
        self._labels = None if labels is None else check_labels(labels)
        check_length(max_length)
        check_keep(keep)
        check_outputs(outputs, multilabel=multilabel)
        self._run, self._tokenizer, self.name = run, tokenizer, name
        self._max_length, self._keep = max_length, keep
        self._outputs, self._multilabel, self._operation = outputs, multilabel, last_operation

    @property
    def references(self) -> tuple[str, ...]:
        """The references: those of "mask", "unk" and "pad" for which there is an id, and "delete".

        Tokens can be deleted if the tokenizer adds special ones, so that something is left of every text.
        """
        names = (*self._tokenizer.roles, *(("delete",) if any(self._sample.fixed) else ()))
        if not names:
            raise OptionError(
                f"{self.name} has nothing to represent an absent word, expected an id for it; pass unk_id=..., "
                "mask_id=... or pad_id=..."
            )
        return names

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes."""
        return score_labels(self._labels, self.scores_kind)

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self.scores_kind.output

    @property
    def description(self) -> Description:
        """What the function was taken for."""
        return recognised(self, type(self).__name__, self._labels, self._outputs)

    @property
    def returns_values(self) -> bool:
        """Whether the columns are values instead of class scores."""
        return self._outputs == "values"

    @cached_property
    def _sample(self) -> Tokens:
        return self._tokenizer.encode(Document.of(SAMPLE), self.name)

    @cached_property
    def scores_kind(self) -> Scores:
        """The kind of the scores, determined once from 32 rows of random words of a usual text, in four lengths."""
        tokens = shortened(self._sample, self._max_length, self._keep)
        if not len(tokens):
            raise EmptyTextError(f"the tokenizer of {self.name} returns no token for {SAMPLE!r}, expected some")
        with untouched():
            raw = trial_scores(self._run, tokens, self.name, getattr(self._tokenizer, "vocabulary", ()))
        if self._outputs == "auto" and not np.isfinite(raw).all():
            raise NonFiniteError(
                f"{self.name} returns numbers that are not finite for {SAMPLE!r}, so its scores cannot be recognised "
                "as logits or probabilities, expected finite numbers; pass outputs='logits' or outputs='probabilities'"
            )
        named, operation = self._labels is not None, self._operation
        scores = recognise(raw, self._outputs, multilabel=self._multilabel, last_operation=operation, named=named)
        # Of one column the values alone do not tell, unless the operation is unknown, so that nothing else does.
        guessed = self._outputs == "auto" and scores.one_column and scores.output.kind == "probabilities"
        if guessed and operation and not is_sigmoid(operation):
            raise OptionError(
                f"{self.name} returned one column of numbers in [0, 1] that the {operation} computes, which may be "
                "probabilities or logits; pass outputs='probabilities' or outputs='logits'"
            )
        return scores

    def reads(self) -> dict[str, Any]:
        """Return the checksum of the tokenizer, or the ids that a function fixes; those of references; what fits."""
        return {**read_by(self._tokenizer), "max_length": self._max_length, "keep": self._keep}

    def encode(self, text: Input) -> Tokens:
        """Return the tokens that the model reads."""
        return read(self._tokenizer, text, self.name, self._max_length, self._keep)

    def bind(self, binding: Binding) -> "TokenIdsProbe":
        """Return the probe of one text."""
        if not binding.space.binary:
            raise CapabilityError(
                f"{self.name} is known by its token ids and has no embedding layer to scale, expected a method that "
                "masks words; use method='mase'"
            )
        role = binding.space.reference
        start = self.scores([_row(binding.tokens)])
        batch = int(np.clip(_BATCH_TOKENS // len(binding.tokens), 8, 256))
        return TokenIdsProbe(self, binding, self._tokenizer.roles.get(role or "delete"), start, batch_size=batch)

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return class probabilities `(n, k)`, or the values."""
        return self.predict_tokens([self.encode(text) for text in check_texts(texts, tuples=True)])

    def predict_tokens(self, tokens: Sequence[Tokens]) -> Floats:
        """Return class probabilities `(n, k)` of n sequences of tokens, or the values."""
        rows = sorted(enumerate(map(_row, tokens)), key=lambda item: len(item[1][0]))
        result = np.empty((len(tokens), len(self.labels)))
        places: Ints = np.array([place for place, _ in rows], dtype=np.int64)
        for part, scores in in_batches(
            lambda chosen, _: self.scores([rows[index][1] for index in chosen]), np.arange(len(rows)), _BATCH
        ):
            result[places[part]] = predictions(scores, self.output)
        return result

    def scores(self, rows: Sequence[Row]) -> Floats:
        """Return the class scores `(n, k)` of n rows of any lengths."""
        by_length: dict[int, list[int]] = {}
        for index, (ids, _) in enumerate(rows):
            by_length.setdefault(len(ids), []).append(index)
        result = np.empty((len(rows), self.scores_kind.n_classes))
        expected = ExpectedOutput(self.name, self.output, self.labels, type(self).__name__)
        for indices in by_length.values():
            batch = [rows[index] for index in indices]
            types = None if batch[0][1] is None else np.array([kinds for _, kinds in batch], dtype=np.int64)
            answer = self._run(np.array([ids for ids, _ in batch], dtype=np.int64), types)
            result[indices] = expected.scores(answer, [f"ids {ids}" for ids, _ in batch])
        return result


@dataclass(frozen=True, slots=True)
class TokenIdsProbe(Probe):
    """A model of token ids bound to one text. See `mase.models.base.Probe`.

    `reference_id` replaces the tokens of a masked word; None deletes them.
    """

    model: TokenIds
    binding: Binding
    reference_id: int | None
    start: Floats
    n_setup: int = 1
    batch_size: int = 256

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self.model.output

    @property
    def scale(self) -> Floats:
        """`(p,)`: 1 for a coordinate whose tokens change when they are masked, 0 for any other."""
        changes = np.array([token != self.reference_id for token in self.binding.tokens.ids])
        scale = np.zeros(self.binding.n_coordinates)
        scale[self.binding.coordinate_of_token[changes & (self.binding.coordinate_of_token >= 0)]] = 1
        return scale

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note if the scores are not what they were declared as."""
        return self.model.scores_kind.notes

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)` of zeros and ones."""
        del rows
        kept = self.binding.kept_tokens(coordinates, "a model of token ids")
        return self.model.scores([self._masked(row) for row in kept])

    def exchanged(self, sources: Ints) -> Floats:
        """Return scores `(b, k)` where word i has the ids of word `sources[:, i]`; `sources` is `(b, p)`."""
        ids, types = _row(self.binding.tokens)
        sourced = self.binding.token_sources(sources)
        return self.model.scores([(tuple(ids[token] for token in row), types) for row in sourced])

    def _masked(self, kept: Bools) -> Row:
        """Return the row in which the tokens that are not `kept` `(t,)` are replaced or deleted."""
        ids, types = _row(self.binding.tokens)
        if self.reference_id is not None:
            return tuple(token if keep else self.reference_id for token, keep in zip(ids, kept, strict=True)), types
        left = None if types is None else tuple(kind for kind, keep in zip(types, kept, strict=True) if keep)
        return tuple(token for token, keep in zip(ids, kept, strict=True) if keep), left


def _row(tokens: Tokens) -> Row:
    return tokens.ids, tokens.types
