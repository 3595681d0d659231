"""Black boxes: any function from texts to class probabilities."""

from collections.abc import Callable as Function
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from mase.arrays import Floats
from mase.attribution import Note
from mase.choices import Reference, check_choice
from mase.document import Document, Input
from mase.errors import CapabilityError, EmptyTextError, MaseError, ModelError, OptionError
from mase.links import FLOOR, Output, predictions, value_names
from mase.models.callable_probe import CallableProbe
from mase.models.description import Description, of_function
from mase.models.expected_output import ExpectedOutput, without_words
from mase.models.http.columns import Columns, is_labelled
from mase.models.locks import alone
from mase.models.options import check_labels
from mase.models.origin import Reopened
from mase.models.outputs import PROBABILITIES, are_distributions, are_probabilities
from mase.models.protocol import Binding
from mase.models.rewriting import Content, Rewriter, parts_of, word_tokens
from mase.platforms import asks_to_end
from mase.rng import untouched
from mase.several import check_texts
from mase.text import Tokens

__all__ = ["Callable", "Kind"]

Kind = Literal["probabilities", "logits", "values", "scores"]


class Callable(Reopened):
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
        tensor, a data frame or a sparse matrix (see `mase.models.expected_output.ExpectedOutput`). A list of objects
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

    sha256 = None
    has_embeddings = False
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

        They are checked by `mase.models.expected_output.ExpectedOutput`. Threads take turns, but not those of another
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
        found = self._called(texts)
        if is_labelled(found):
            self._labelled = self._labelled or Columns(self._labels, self.name, fewest=1 if self.returns_values else 2)
            found = self._labelled.table(list(found))
            self._labels = self._labels or self._labelled.labels
        is_list = isinstance(found, list | tuple) or (isinstance(found, np.ndarray) and found.ndim > 0)
        if is_list and 0 < len(found) < len(texts):  # perhaps those of the first texts alone
            reason = f"it returned {len(found)} rows for {len(texts)} texts"
            raise _FailedError(f"{self.name}: {reason}, expected one row per text", reason)
        expected = ExpectedOutput(self.name, self._output, self._labels, self.opened_as)
        answered = expected.columns(found, texts)
        self._n_columns, scores = answered.shape[1], expected.of_all_classes(answered)
        columns = _columns_of(found)
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
