"""Functions from texts or records to scores, as black boxes."""

from collections import abc
from collections.abc import Callable as Function
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.attribution.response import Note
from mase.defaults import Reference, check_choice, is_real
from mase.document import TEXT, Document, Field, Input, Scalar, check_texts
from mase.errors import (
    CapabilityError,
    EmptyTextError,
    InvalidTextError,
    MaseError,
    ModelError,
    OptionError,
    ShapeError,
)
from mase.links import FLOOR, Output, value_names
from mase.models.base import Binding, Model, Probe
from mase.models.description import Description, of_function
from mase.models.locks import alone
from mase.models.origin import Reopened
from mase.models.scores import (
    PROBABILITIES,
    Columns,
    ExpectedOutput,
    are_distributions,
    are_probabilities,
    check_labels,
    is_labelled,
    without_words,
)
from mase.platforms import asks_to_end
from mase.registry import require
from mase.responses import predictions
from mase.rng import untouched
from mase.text import Span, Tokens, find_words, joins

# The contents of the fields of a document, in order.
Contents = tuple[Scalar, ...]

# What a function gets: the str of a plain text, or the contents by name.
Content = str | dict[str, Scalar]


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Rewrites a document field by field.

    Attributes
    ----------
    document
        The document.
    pieces, spans
        Its t words in reading order, and their places in the text. A number or a category is one word.
    words
        For each field, where its words are among all, and their spans in its text.
    continues
        For each word, whether it touches the word before it and belongs to the same coordinate. One replacement stands
        for both.
    """

    document: Document
    pieces: tuple[str, ...]
    spans: tuple[Span, ...]
    words: tuple[tuple[slice, tuple[Span, ...]], ...]
    continues: tuple[bool, ...]
    tables: "dict[tuple[int, str | None], _Joined]" = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, tokens: Tokens, coordinate_of_token: Ints) -> Self:
        """Return the rewriter of a document whose tokens are its words, with the coordinate of each `(t,)`."""
        spans: dict[str, list[Span]] = {field.name: [] for field in tokens.document.fields}
        for span in tokens.spans:
            assert span is not None
            field, start, end = tokens.document.located(*span)
            spans[field.name].append((start, end))
        ends = accumulate(map(len, spans.values()))
        words = tuple((slice(end - len(own), end), tuple(own)) for end, own in zip(ends, spans.values(), strict=True))
        same = (coordinate_of_token[1:] == coordinate_of_token[:-1]).tolist()
        touching = [first[1] == second[0] for first, second in pairwise(filter(None, tokens.spans))]
        continues = (False, *map(all, zip(same, touching, strict=True)))
        return cls(tokens.document, tokens.pieces, tuple(filter(None, tokens.spans)), words, continues)

    @property
    def unchanging(self) -> list[int]:
        """Indices of the numbers and categories that are not fixed and equal to their background values."""
        fields = zip(self.document.fields, self.words, strict=True)
        return [
            own.start
            for field, (own, spans) in fields
            if spans and not field.fixed and field.value == field.background is not None
        ]

    def masked(self, kept: Bools, replacement: str | None) -> Contents:
        """Return the contents without the words that are not `kept` `(t,)`, or with the replacement in their place.

        Words of one coordinate that touch, such as a word and its punctuation, get one replacement. A number or a
        category gives way to its background value. A text that is one of several fields is empty if all of its words
        are removed.
        """
        return self.masked_rows(kept[None], replacement)[0]

    def masked_rows(self, kept: Bools, replacement: str | None) -> list[Contents]:
        """Return the contents as `masked` does for each of several rows `(b, t)`."""
        numbers, t = np.arange(kept.shape[1]), kept.shape[1]
        left: Bools = kept
        items: Ints = np.broadcast_to(numbers, kept.shape)
        if replacement is not None:
            left = kept | np.array([not item for item in self.continues])
            items = np.where(kept, numbers, numbers + t)
        fields = range(len(self.words))
        columns = [self._masked_field(field, kept, left, items, replacement) for field in fields]
        return [*zip(*columns, strict=True)]

    def _masked_field(
        self, number: int, kept: Bools, left: Bools, items: Ints, replacement: str | None
    ) -> Sequence[Scalar]:
        """Return the content of a field for each row, whose words or replacements `items` are `left` `(b, t)`."""
        part, (own, spans) = self.document.fields[number], self.words[number]
        if part.value is not None:
            if part.background is None:
                return [part.value] * len(kept)
            return [part.value if row.all() else part.background for row in kept[:, own]]
        if not spans:
            return [part.text] * len(kept)
        if (number, replacement) not in self.tables:
            words = dict(enumerate(self.pieces[own], own.start))
            blanks = {} if replacement is None else dict.fromkeys((t + len(self.pieces) for t in words), replacement)
            self.tables[number, replacement] = _Joined(part.text, spans, own.start, len(self.pieces), words | blanks)
        table, texts = self.tables[number, replacement], []
        for some, row in zip(left[:, own], items[:, own], strict=True):
            chosen = row[some].tolist()
            texts.append(table.text_of(chosen) if chosen or self.document.is_plain else "")
        return texts

    def exchanged(self, sources: Ints, members: Sequence[Ints]) -> Contents:
        """Return the contents with unit i replaced by unit `sources[i]` `(p,)`; `members[i]` are the words of unit i.

        A number or a category in whose place another unit would be gives way to its background value.
        """
        pieces: list[str | None] = list(self.pieces)
        replaced: Bools = np.zeros(len(pieces), dtype=np.bool_)
        for unit, source in enumerate(sources.tolist()):
            if source == unit:
                continue
            first, *others = members[unit].tolist()
            pieces[first] = self.text_of(members[source])
            for word in others:
                pieces[word] = None
            replaced[members[unit]] = True
        return self._contents(pieces, replaced)

    def text_of(self, words: Ints) -> str:
        """Return the text of the words of a unit, with what is between them."""
        (first, _), (_, end) = (self.spans[words[place]] for place in (0, -1))
        return self.document.text[first:end]

    def content(self, contents: Contents) -> Content:
        """Return what a function gets for the contents of the fields: a str, or a new dict."""
        if self.document.is_plain:
            return str(contents[0])
        return self.document.record(contents)

    def _contents(self, pieces: Sequence[str | None], replaced: Bools) -> Contents:
        contents: list[Scalar] = []
        for part, (own, spans) in zip(self.document.fields, self.words, strict=True):
            if part.value is None:
                contents.append(self._rewritten(part.text, spans, pieces[own]))
            elif part.background is not None and replaced[own].any():
                contents.append(part.background)
            else:
                contents.append(part.value)
        return tuple(contents)

    def _rewritten(self, text: str, spans: Sequence[Span], pieces: Sequence[str | None]) -> str:
        if spans and not self.document.is_plain and all(piece is None for piece in pieces):
            return ""
        return rewritten(text, spans, pieces)


_MOST_PAIRS = 20_000  # that are kept, for texts of thousands of words


class _Joined(dict[tuple[int, int], str]):
    """What stands between two words that are left, and the second of these: a row of a text is a sequence of them.

    A word that was replaced has its number plus `n`. Pairs are joined when they are first asked for.
    """

    def __init__(self, text: str, spans: Sequence[Span], first: int, n: int, pieces: dict[int, str]) -> None:
        super().__init__()
        self._spans, self._first, self._n, self._pieces = spans, first, n, pieces
        self._before, self._after = text[: spans[0][0]], text[spans[-1][1] :]
        self._gaps = [text[end:start] for (_, end), (start, _) in pairwise(spans)]
        self._widths = [*map(_width, self._gaps)]

    def __missing__(self, pair: tuple[int, int]) -> str:
        element, other = (item % self._n - self._first for item in pair)
        piece = self._pieces[pair[1]]
        widest = self._gaps[
            element if other == element + 1 else max(range(element, other), key=self._widths.__getitem__)
        ]
        result = (widest or (" " if joins(self._pieces[pair[0]], piece) else "")) + piece
        if len(self) >= _MOST_PAIRS:
            self.clear()
        self[pair] = result
        return result

    def text_of(self, left: Sequence[int]) -> str:
        """Return the text of which these words are left."""
        if not left:
            return max(self._before, self._after, key=_width)
        pairs = map(self.__getitem__, pairwise(left))
        return "".join([self._before, self._pieces[left[0]], *pairs, self._after])


def word_tokens(document: Document) -> Tokens:
    """Return the words of a document as its tokens, for a model that takes texts; a number or a category is
    one token.
    """
    spans = tuple(
        (first + start, first + end)
        for field, first in zip(document.fields, document.starts, strict=True)
        for start, end in _words(field)
    )
    if not spans:
        raise EmptyTextError(f"text {document.text[:40]!r} has no word, expected at least one")
    pieces = tuple(document.text[start:end] for start, end in spans)
    return Tokens(document, tuple(range(len(spans))), pieces, spans, (False,) * len(spans))


def parts_of(content: Content, replacement: str | None, n: int = 8) -> list[Content]:
    """Return n copies of a text or record, each without half of its words, but for one; always the same."""
    tokens = word_tokens(Document.of(content))
    kept = np.random.default_rng(0).random((n, len(tokens))) < 0.5
    kept[np.arange(n), np.arange(n) % len(tokens)] = True
    rewriter = Rewriter.of(tokens, np.arange(len(tokens)))
    return [rewriter.content(rewriter.masked(row, replacement)) for row in kept]


def _words(field: Field) -> list[Span]:
    """Return the spans of the words of a field; a number or a category is one word."""
    if field.value is None:
        return find_words(field.text)
    return [(0, len(field.text))] if field.text.strip() else []


def rewritten(text: str, spans: Sequence[Span], pieces: Sequence[str | None]) -> str:
    """Return a text with the word at `spans[i]` replaced by `pieces[i]`, or removed where `pieces[i]` is None.

    Of the gaps around removed words, one gap remains: the one with the most line breaks, and among these the longest.
    No white space is added at the beginning or at the end of the text. If two words would run together because the
    characters between them are gone, one space separates them.

    Examples
    --------
    >>> from mase.text import find_words
    >>> text = "open-source, as  ever"
    >>> spans = find_words(text)
    >>> words = [text[start:end] for start, end in spans]
    >>> rewritten(text, spans, [None if word in ("-", "as") else word for word in words])
    'open source,  ever'
    """
    first = text[: spans[0][0]] if spans else text
    parts: list[str] = []
    widest, end = None, 0  # the widest gap since the last word that is left
    for (start, stop), piece in zip(spans, pieces, strict=True):
        gap, end = text[end:start], stop
        if widest is None or (gap != widest and _width(gap) > _width(widest)):
            widest = gap
        if piece is not None:
            apart = (widest or (" " if joins(parts[-1], piece) else "")) if parts else first
            parts += [apart, piece]
            widest = None
    last = text[end:]
    return "".join([*parts, last]) if parts else max(first, last, key=_width)


def _width(gap: str) -> tuple[int, int]:
    return gap.count("\n"), len(gap)


class BlackBox(Model):
    """A model that gets the changed texts themselves, instead of their tokens or vectors."""

    has_embeddings = False
    if TYPE_CHECKING:

        @property
        def output(self) -> Output:
            """What the columns of the scores are."""

    def scores(self, texts: Sequence[Content]) -> Floats:
        """Return scores `(n, k)` of n texts or records."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the answers."""
        return ()


# Sorted columns are noticed from so many classes on, and by so many different gaps between two that are nearly equal.
_LEAST_CLASSES, _LEAST_NEAR, _NEAR = 3, 10, 0.05


@dataclass(slots=True)
class Order:
    """Whether the columns of all rows so far are sorted from the largest to the smallest, as no classes are.

    A pipeline lists the best class first. In a classifier of fixed columns two classes that are nearly as probable
    change places from row to row.
    """

    n_rows: int = 0
    sorted_rows: bool = True
    near: set[float] = field(default_factory=set)

    def see(self, scores: Floats) -> None:
        """Take note of scores `(n, k)`."""
        gaps = (scores[:, :-1] - scores[:, 1:]).min(axis=1)
        self.n_rows += len(scores)
        self.sorted_rows = self.sorted_rows and scores.shape[1] >= _LEAST_CLASSES and bool((gaps >= 0).all())
        if self.sorted_rows and len(self.near) < _LEAST_NEAR:
            self.near.update(np.round(gaps[(gaps > 0) & (gaps < _NEAR)], 6).tolist())

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note if the columns are sorted beyond chance."""
        if not self.sorted_rows or len(self.near) < _LEAST_NEAR:
            return ()
        message = (
            f"the columns of all {self.n_rows} answers are sorted from the largest to the smallest, also where two are "
            "nearly equal: they seem to be ranks and not classes; return the classes in a fixed order, or a list of "
            "objects with a label and a score"
        )
        return (Note("sorted-columns", message),)


@dataclass(frozen=True, slots=True)
class CallableProbe(Probe):
    """A black box bound to one text. See `mase.models.base.Probe`."""

    model: BlackBox
    binding: Binding
    rewriter: Rewriter
    replacement: str | None
    start: Floats
    n_setup: int = 1
    batch_size: int = 256
    order: Order = field(default_factory=Order, compare=False)

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self.model.output

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the answers."""
        return (*self.model.notes, *self.order.notes)

    @property
    def varies(self) -> bool | None:
        """Whether answers to the same row vary: None, because it is not known of a function."""
        return None

    @property
    def scale(self) -> Floats:
        """Ones `(p,)`, and 0 for a number or a category that is equal to its background value."""
        scale = np.ones(self.binding.n_coordinates)
        unchanging = self.binding.coordinate_of_token[self.rewriter.unchanging]
        scale[unchanging[unchanging >= 0]] = 0.0  # a fixed one has no coordinate
        return scale

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)` of zeros and ones."""
        del rows
        kept = self.binding.kept_tokens(coordinates, "a function of texts")
        return self._evaluated(self.rewriter.masked_rows(kept, self.replacement))

    def exchanged(self, sources: Ints) -> Floats:
        """Return scores `(b, k)` where word i is replaced by word `sources[:, i]`; `sources` is `(b, p)`."""
        of_token = self.binding.coordinate_of_token
        members = [np.flatnonzero(of_token == unit) for unit in range(self.binding.n_coordinates)]
        return self._evaluated([self.rewriter.exchanged(row, members) for row in sources])

    def _evaluated(self, contents: list[Contents]) -> Floats:
        scores = self.model.scores([self.rewriter.content(content) for content in contents])
        if scores.shape[1] != self.start.shape[1]:
            raise ShapeError(
                f"{self.model.name} returned {scores.shape[1]} columns, "
                f"expected {self.start.shape[1]} as for the complete text"
            )
        if self.output.kind == "probabilities":
            self.order.see(scores)
        return scores


Kind = Literal["probabilities", "logits", "values", "scores"]


class Callable(Reopened, BlackBox):
    """A model that is known only by its function `predict_proba(list[str]) -> (n, k)`.

    For pairs and documents of several fields the function gets a list of records (`dict`), with a str for a text and
    the value itself for a number or a category. Every record is a new dict; that of a pair also unpacks as its texts.

    It is explained by masking words: one coordinate per word, 1 if the word is kept and 0 if it is masked. A number or
    a category is one word; masked, it is its background value. Threads that share a `Callable` call the function in
    turns. Each `Callable` has turns of its own, and `mase.explain` makes one for every call.

    Parameters
    ----------
    predict_proba
        Class probabilities `(n, k)`, or one column with the probability of the second class: a list, an array, a
        tensor, a data frame or a sparse matrix (see `mase.models.scores.ExpectedOutput`). A list of objects
        with a label and a score for each class, in any order, is read by the labels, as a pipeline of transformers
        returns them with ``top_k=None``. A call that fails is repeated with half as many texts: if that helps, calls
        have no more from then on, and a note says so.
    labels
        Names of the k classes; by default the `classes_` of the estimator whose method `predict_proba` it is, or the
        names of the columns of a data frame, or else "0", "1", .... For one column: the names of both classes, or of
        the class that the column scores. For values, their names; by default those of the columns of a data frame, or
        "value", or "value 0", "value 1", ... of several.
    mask_token
        The string that replaces a masked word; None removes the word from its text.
    multilabel
        Whether the k columns are separate questions, so that rows need not sum to 1.
    outputs
        "probabilities", "logits", "values" (numbers that are explained as they are, with the link "value", such as a
        likelihood or a regression) or "scores" (values of classes, of which the largest is predicted, as by a
        `decision_function`). One column of logits requires `labels`, because it may be no class score.
    floor
        Smallest probability whose logarithm is taken; one that is smaller, such as 0, is raised to it.
    name
        Name for provenance.

    Raises
    ------
    OptionError
        If an option has an invalid value, or the function is a `decision_function` and `outputs` is "probabilities".
    """

    name: str
    sha256 = None
    kind: ClassVar[str] = "function"  # what it is called before its name
    cheap: ClassVar[bool] = True  # such models mostly answer in less time than a neural network

    def __init__(
        self,
        predict_proba: Function[[list[Any]], Any],
        labels: Sequence[str] | None = None,
        *,
        mask_token: str | None = None,
        multilabel: bool = False,
        outputs: Kind = "probabilities",
        floor: float = FLOOR,
        name: str | None = None,
    ) -> None:
        check_choice("outputs", outputs, get_args(Kind))
        if multilabel and outputs in ("values", "scores"):
            raise OptionError(f"multilabel is True, expected False for outputs={outputs!r}, without probabilities")
        names = _classes_of(predict_proba) if labels is None else check_labels(labels)
        if mask_token is not None and not (isinstance(mask_token, str) and mask_token):
            raise OptionError(
                f"mask_token is {mask_token!r:.80}, expected the string that replaces a masked word, or None to remove "
                "the word"
            )
        if not (is_real(floor) and 0 < floor < 1):
            raise OptionError(f"floor is {floor!r:.60}, expected a probability above 0 and below 1")
        if outputs == "probabilities" and getattr(predict_proba, "__name__", "") == "decision_function":
            raise OptionError(
                "decision_function returns distances, expected probabilities; pass predict_proba, labels=[...] and "
                "outputs='logits' if the distances are logits, or outputs='scores' to explain them as they are"
            )
        self._predict = predict_proba
        self._labels = names
        self._is_named = names is not None
        self._mask_token = mask_token
        if outputs == "scores":
            self._output = Output("values", ranked=True)
        else:
            self._output = Output(outputs, multilabel, floor=floor)
        self._columns: tuple[str, ...] | None = None  # of the data frame that the labels are from
        self._n_columns: int | None = None
        self._labelled: Columns | None = None  # of answers that are labels and scores
        self._most: int | None = None  # texts in one call, since more were refused
        self._refused = ""
        self._seen_logits = self._corrected = False
        self.name = name or str(getattr(predict_proba, "__qualname__", type(predict_proba).__name__))

    @property
    def package(self) -> str | None:
        """Name of the package that the function or estimator belongs to, such as "sklearn"; None if it is unknown."""
        owner = getattr(self._predict, "__self__", None)
        module = getattr(self._predict if owner is None else type(owner), "__module__", None)
        return None if module is None else str(module).partition(".")[0]

    @property
    def opened_as(self) -> str:
        """Name of the class that takes the options which messages name."""
        return type(self).__name__

    @property
    def references(self) -> tuple[Reference, ...]:
        """The references: "mask" if there is a mask token, and "delete", which removes the word."""
        return ("delete",) if self._mask_token is None else ("mask", "delete")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes or values; asks the function about one text if neither they nor k are known."""
        if self._labels is None and self._n_columns is None:
            with untouched():  # or else the first text would get other random numbers than the same text later
                self.scores(["a text"])
        if self._labels is not None and (len(self._labels) > 1 or self.returns_values):
            return self._labels
        if self._labels is not None:
            return (f"not {self._labels[0]}", self._labels[0])
        assert self._n_columns is not None
        if self.returns_values:
            return value_names(self._n_columns)
        return tuple(map(str, range(max(2, self._n_columns))))  # one column is the score of the second of two classes

    @property
    def description(self) -> Description:
        """What the function was taken for."""
        labels = self.labels  # asks the function if it was not asked before
        return of_function(self, self._predict, labels, is_named=self._is_named, of_one_column=self._n_columns == 1)

    def reads(self) -> dict[str, Any]:
        """Return the mask token and the smallest probability whose logarithm is taken, where they are not the usual."""
        usual = {"mask_token": None, "floor": FLOOR}
        own = {"mask_token": self._mask_token, "floor": self._output.floor}
        return {name: value for name, value in own.items() if value != usual[name]}

    def encode(self, text: Input) -> Tokens:
        """Return the words of a text, or of all texts of a document, as tokens; a number or a category is one token.

        An empty category has no token.

        Raises
        ------
        EmptyTextError
            If there is none.
        """
        return word_tokens(Document.of(text))

    def bind(self, binding: Binding) -> CallableProbe:
        """Return the probe of one text.

        Raises
        ------
        CapabilityError
            If the space needs an embedding layer.
        InvalidTextError
            If a number or a category has no background value and is not fixed.
        """
        binding.tokens.document.check_masks()
        if not binding.space.binary:
            raise CapabilityError(
                "a function of texts has no embedding layer to scale, expected a method that masks words; "
                "use method='mase'"
            )
        replacement = self._mask_token if binding.space.reference == "mask" else None
        start = self.scores([binding.tokens.document.content])
        return CallableProbe(
            self, binding, Rewriter.of(binding.tokens, binding.coordinate_of_token), replacement, start
        )

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return class probabilities `(n, k)`, or the values."""
        contents = [Document.of(text).content for text in check_texts(texts, tuples=True)]
        return predictions(self.scores(contents), self._output) if contents else np.empty((0, len(self.labels)))

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self._output

    @property
    def returns_values(self) -> bool:
        """Whether the columns are values instead of class scores."""
        return self._output.kind == "values"

    def scores(self, texts: Sequence[Content]) -> Floats:
        """Return the class scores or values `(n, k)` of n texts or records.

        They are checked by `mase.models.scores.ExpectedOutput`. Threads take turns, but not those of another
        adapter of the same function.

        Raises
        ------
        ModelError
            If the function raises, or does not return class scores.
        ShapeError
            If they are not `(n, k)`.
        OptionError
            If they are one column of logits, and there are no labels.
        """
        with alone(self):  # hold the lock until the result is copied, because the function may reuse its array
            try:
                scores = self._in_calls(texts)
            except _FailedError as error:
                raise ModelError(str(error)) from error.__cause__
            if self._output.kind == "logits" and not self._seen_logits:
                self._compare_with_logits(texts, scores)
            return scores

    @property
    def largest_call(self) -> int | None:
        """The most texts that the function took at a time, since it refused more; None if it refused none."""
        return self._most

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the answers so far: smaller calls, and probabilities where logits were declared."""
        halved = (
            f"{self.name} refused a call with more texts ({self._refused}), so it was given at most {self._most} at a "
            f"time; use batch_size={self._most} to ask so from the start"
        )
        return (
            *((PROBABILITIES,) if self._corrected else ()),
            *((Note("batch-halved", halved),) if self._most is not None else ()),
        )

    def _in_calls(self, texts: Sequence[Content]) -> Floats:
        """Return the scores of texts; where the function fails, of half as many at a time."""
        if self._most is not None and len(texts) > self._most:
            starts = range(0, len(texts), -(-len(texts) // -(-len(texts) // self._most)))  # calls of about equal size
            return np.concatenate([self._in_calls(texts[start : start + starts.step]) for start in starts])
        try:
            return self._of_call(texts)
        except _FailedError as error:
            if len(texts) == 1:
                raise
            before = self._most, self._refused
            self._most, self._refused = len(texts) // 2, error.reason
            try:
                return self._in_calls(texts)
            except _FailedError:
                self._most, self._refused = before
                raise

    def _compare_with_logits(self, texts: Sequence[Content], scores: Floats) -> None:
        """Take declared logits for probabilities if the scores `(n, k)` of texts and of parts of one leave no doubt."""
        if self._n_columns == 1 or not are_distributions(scores):
            self._seen_logits = True
            return
        with suppress(EmptyTextError, _FailedError):
            parts = [] if are_probabilities(scores) else parts_of(texts[0], self._mask_token)
            if are_probabilities(np.concatenate([scores, *(self._of_call([part]) for part in parts)])):
                self._corrected, self._output = True, replace(self._output, kind="probabilities")

    def _of_call(self, texts: Sequence[Content]) -> Floats:
        """Return the scores of the texts of one call."""
        result = self._called(texts)
        if is_labelled(result):
            self._labelled = self._labelled or Columns(self._labels, self.name, fewest=1 if self.returns_values else 2)
            result = self._labelled.table(list(result))
            self._labels = self._labels or self._labelled.labels
        is_list = isinstance(result, list | tuple) or (isinstance(result, np.ndarray) and result.ndim > 0)
        if is_list and 0 < len(result) < len(texts):  # perhaps those of the first texts alone
            reason = f"it returned {len(result)} rows for {len(texts)} texts"
            raise _FailedError(f"{self.name}: {reason}, expected one row per text", reason)
        expected = ExpectedOutput(self.name, self._output, self._labels, self.opened_as)
        answered = expected.columns(result, texts)
        self._n_columns, scores = answered.shape[1], expected.of_all_classes(answered)
        columns = _columns_of(result)
        if columns is None:
            return scores
        self._labels = self._labels or columns
        # Columns that have the names of the labels are in their order; others, as long as they stay the same.
        self._columns = self._columns or (self._labels if set(columns) == set(self._labels) else columns)
        if columns == self._columns:
            return scores
        if set(columns) != set(self._columns):
            raise ModelError(
                f"{self.name} returned the columns {', '.join(columns)!s:.80}, expected those of its first answer: "
                f"{', '.join(self._columns)!s:.80}"
            )
        return scores[:, [columns.index(name) for name in self._columns]]

    def _called(self, texts: Sequence[Content]) -> Any:
        """Return what the function returns, or raise a ModelError that says what it raised."""
        try:
            return self._predict(list(texts))  # a new list, because the function may change it
        except (MaseError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            if asks_to_end(error):
                raise
            reason = " ".join(str(error).split())
            raised = f"{type(error).__name__}: {reason}"
            raise _FailedError(f"{self.name} raised {raised}{_remedy(texts, error)}", raised) from error


class _FailedError(ModelError):
    """The function of a user raised something, perhaps because it was given too many texts."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


def _classes_of(function: Any) -> tuple[str, ...] | None:
    """Return the names of the classes of the estimator whose `predict_proba` a function is; None if it is another."""
    if getattr(function, "__name__", "") != "predict_proba":
        return None
    classes = getattr(getattr(function, "__self__", None), "classes_", None)
    if classes is None or any(np.ndim(label) for label in classes):
        return None
    names = tuple(map(str, classes))
    return names if len(names) > 1 and len(set(names)) == len(names) else None


def _columns_of(answer: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame; None if they have none, or if it is something else."""
    columns = getattr(answer, "column_names", getattr(answer, "columns", None))  # of Arrow, or of other tables
    if columns is None or not all(isinstance(name, str | int | np.generic) for name in columns):
        return None
    names = tuple(map(str, columns))
    numbers = tuple(map(str, range(len(names))))
    return names if names != numbers and len(set(names)) == len(names) else None


def _remedy(texts: Sequence[Content], error: BaseException) -> str:
    """Return what may be wrong with the inputs of a function that raised, for the end of a message."""
    if isinstance(texts[0], dict):
        return f" (it was given records, each a dict with the fields {', '.join(texts[0].keys())})"
    of_one = isinstance(error, TypeError | AttributeError)
    hint = " (it was given a list of str; pass lambda texts: [f(text) for text in texts] if f reads one text)"
    return without_words(texts) or (hint if of_one else "")


@dataclass(frozen=True, slots=True)
class OfFrames:
    """A function of records that calls a function of data frames, such as one of an estimator fitted on data frames.

    Parameters
    ----------
    function
        The function. It gets a pandas data frame with one row per record; numbers stay numbers.
    columns
        The columns of the data frame, in order. Other fields of a record are left out.
    """

    function: abc.Callable[[Any], Any]
    columns: tuple[str, ...]

    @property
    def __self__(self) -> Any:
        """The object to which the function belongs."""
        return getattr(self.function, "__self__", self.function)

    def __call__(self, records: Sequence[Mapping[str, Any] | str]) -> Any:
        """Return what the function returns for n records."""
        if self.columns == (TEXT,):  # what a mapping with this field alone is for every model
            records = [{TEXT: record} if isinstance(record, str) else record for record in records]
        for record in records:
            missing = [name for name in self.columns if isinstance(record, str) or name not in record]
            if missing:
                names = "" if isinstance(record, str) else ", ".join(record.keys())  # a pair unpacks as its texts
                got = f"the fields {names:.200}" if names else f"the str {record!r:.40}"
                raise InvalidTextError(
                    f"text has {got}, expected a mapping with {', '.join(self.columns):.400}, the columns of the data "
                    f"frame on which the model was fitted; add {', '.join(missing):.200}"
                )
        require("pandas", "data")
        import pandas as pd

        return self.function(pd.DataFrame.from_records(list(records), columns=list(self.columns)))


def columns_of(estimator: object) -> tuple[str, ...] | None:
    """Return the columns of the data frame on which an estimator of scikit-learn was fitted, None if on anything else.

    A pipeline that begins with a `ColumnTransformer` was fitted on a data frame.
    """
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))
