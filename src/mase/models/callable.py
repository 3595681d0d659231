"""A black box: any function from texts to class probabilities."""

from collections.abc import Callable as Function
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.errors import CapabilityError, EmptyTextError, MaseError, ModelError, OptionError, ShapeError
from mase.links import Output, probabilities
from mase.models.answers import Answers
from mase.models.locks import alone
from mase.models.protocol import Binding, Opened
from mase.models.rewriting import rewritten
from mase.text import Tokens, check_text, check_texts, find_words

__all__ = ["Callable"]


class Callable:
    """A classifier of which nothing is known but `predict_proba(list[str]) -> (n, k)`.

    Its words are taken out of the text, one coordinate per word with the values 0 and 1. Threads take turns to call it.

    Parameters
    ----------
    predict_proba
        Class probabilities `(n, k)`, or one column with the probability of the second class: a list, an array, a
        tensor, a data frame or a sparse matrix (see `mase.models.answers.Answers`).
    labels
        Names of the k classes; "0", "1", ... by default. For one column the names of both classes, or of the one that
        it scores.
    mask_token
        What to write in place of a word that is taken out; None takes the word out altogether.
    multilabel
        Whether the k columns are separate questions (and rows need not sum to 1).
    outputs
        "probabilities", or "logits". One column of logits needs `labels`: without them it may be a likelihood or a
        regression, and no class.
    name
        For provenance.

    Raises
    ------
    OptionError
        If an option has another value than these, or the function is a `decision_function` and `outputs` not "logits".
    """

    sha256: ClassVar[None] = None
    has_embeddings: ClassVar[bool] = False

    def __init__(
        self,
        predict_proba: Function[[list[str]], Any],
        labels: Sequence[str] | None = None,
        *,
        mask_token: str | None = None,
        multilabel: bool = False,
        outputs: str = "probabilities",
        name: str | None = None,
    ) -> None:
        if outputs not in ("probabilities", "logits"):
            raise OptionError(f"outputs is {outputs!r}, expected 'probabilities' or 'logits'")
        if isinstance(labels, str):
            raise OptionError(f"labels is {labels!r}, expected a list of names, one per class")
        if labels is not None and (not len(labels) or len(set(labels)) != len(labels)):
            raise OptionError(f"labels are {list(labels)}, expected one name per class, no two alike")
        if mask_token == "":
            raise OptionError(
                "mask_token is '', expected what to write in a word's place, or None to take the word out"
            )
        if outputs == "probabilities" and getattr(predict_proba, "__name__", "") == "decision_function":
            raise OptionError(
                "decision_function returns distances, expected probabilities; pass predict_proba, or labels=[...] and "
                "outputs='logits' if the distances are logits"
            )
        self._predict = predict_proba
        self._labels = None if labels is None else tuple(map(str, labels))
        self._mask_token = mask_token
        self._output = Output("logits" if outputs == "logits" else "probabilities", multilabel)
        self.name = name or str(getattr(predict_proba, "__qualname__", type(predict_proba).__name__))

    @property
    def references(self) -> tuple[str, ...]:
        """What can stand for absence: the mask token if there is one, else taking the word out."""
        return ("delete",) if self._mask_token is None else ("mask", "delete")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes; asks the function once if they were not given."""
        if self._labels is not None and len(self._labels) > 1:
            return self._labels
        k = self.scores(["a text"]).shape[1]
        if self._labels is not None:
            return (f"not {self._labels[0]}", self._labels[0])
        return tuple(str(index) for index in range(k))

    def encode(self, text: str) -> Tokens:
        """Return the words of the text as tokens.

        Raises
        ------
        EmptyTextError
            If it has none.
        """
        spans = tuple(find_words(check_text(text)))
        if not spans:
            raise EmptyTextError(f"text {text[:40]!r} has no word, expected at least one")
        pieces = tuple(text[start:end] for start, end in spans)
        return Tokens(text, tuple(range(len(spans))), pieces, spans, (False,) * len(spans))

    def bind(self, binding: Binding) -> "CallableProbe":
        """Return the probe of one text.

        Raises
        ------
        CapabilityError
            If the space needs an embedding layer.
        """
        if not binding.space.binary:
            raise CapabilityError(
                "a function of texts has no embedding layer to scale; use method='mase', which takes words out"
            )
        replacement = self._mask_token if binding.space.reference == "mask" else None
        start = self.scores([binding.tokens.text])
        return CallableProbe(self, binding, replacement, start, {})

    def predict(self, texts: Sequence[str]) -> Floats:
        """Return class probabilities `(n, k)`."""
        asked = [check_text(text) for text in check_texts(texts, tuples=True)]
        return probabilities(self.scores(asked), self._output) if asked else np.empty((0, len(self.labels)))

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self._output

    def scores(self, texts: list[str]) -> Floats:
        """Return the function's answers `(n, k)`, checked by `mase.models.answers.Answers`; one thread at a time asks.

        Raises
        ------
        ModelError
            If the function raises, or its answers are no class scores.
        ShapeError
            If they are not `(n, k)`.
        OptionError
            If they are one column of logits, and there are no labels.
        """
        with alone(self):  # until the answer is copied: the function may fill the same array again
            return Answers(self.name, self._output, self._labels).table(self._asked(texts), texts)

    def _asked(self, texts: list[str]) -> Any:
        """Return what the function answers."""
        try:
            return self._predict(list(texts))  # a list of its own, which the function may change
        except (MaseError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            empty = sum(not text.strip() for text in texts)
            remedy = (
                f" ({empty} of the {len(texts)} texts had all words taken out; mask_token='...' leaves a token)"
                if empty
                else ""
            )
            said = " ".join(str(error).split())
            raise ModelError(f"{self.name} raised {type(error).__name__}: {said}{remedy}") from error


@dataclass(frozen=True, slots=True)
class CallableProbe:
    """A black box bound to one text. See `mase.models.protocol.Probe`.

    A short text has few distinct rows: each is asked once, and its answer is `known`; None if every row is asked. The
    text itself, whose scores are `start`, is asked once more, which shows whether the function gives the same answer
    again.
    """

    model: Callable
    binding: Binding
    replacement: str | None
    start: Floats
    known: dict[str, Floats] | None
    n_setup: int = 1
    batch_size: int = 256

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self.model.output

    @property
    def scale(self) -> Floats:
        """Ones `(p,)`: every word can be taken out."""
        return np.ones(self.binding.n_coordinates)

    def opened(self) -> Opened:
        """Return the context of `scores`, which needs no preparation."""
        return nullcontext(self.scores)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)` of zeros and ones.

        Raises
        ------
        CapabilityError
            If a coordinate is neither.
        """
        del rows
        if not np.isin(coordinates, (0.0, 1.0)).all():
            raise CapabilityError(
                "a function of texts takes whole words, expected coordinates 0 and 1; use design='bernoulli'"
            )
        return self._scores([self._text(row) for row in coordinates[:, self.binding.coordinate_of_token] == 1])

    def exchanged(self, sources: Ints) -> Floats:
        """Return scores `(b, k)` where words i of the text are written as words `sources[:, i]` are, `(b, p)`."""
        return self._scores([self._rewritten(row) for row in self.binding.token_sources(sources)])

    def afresh(self, *, remember: bool) -> "CallableProbe":
        """Return the same probe without the answers so far; it keeps no new ones unless `remember`."""
        return replace(self, known={} if remember else None)

    def _scores(self, texts: list[str]) -> Floats:
        if self.known is None:
            return self._asked(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known.update(zip(new, self._asked(new), strict=True))
        return np.array([self.known[text] for text in texts])

    def _asked(self, texts: list[str]) -> Floats:
        found = self.model.scores(texts)
        if found.shape[1] != self.start.shape[1]:
            raise ShapeError(
                f"{self.model.name} returned {found.shape[1]} columns, expected {self.start.shape[1]} as for the whole text"
            )
        return found

    def _rewritten(self, sources: Ints) -> str:
        pieces = self.binding.tokens.pieces
        return rewritten(self.binding.tokens, [pieces[source] for source in sources])

    def _text(self, kept: np.ndarray) -> str:
        pieces = self.binding.tokens.pieces
        return rewritten(
            self.binding.tokens, [piece if keep else self.replacement for piece, keep in zip(pieces, kept, strict=True)]
        )
