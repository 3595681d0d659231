"""Zero-shot classification: a model of natural language inference as a classifier whose classes are any labels.

For each label the model reads a pair: the text, and a hypothesis about it that names the label. The words of the text
are perturbed alike in all pairs; the hypotheses stay as they are.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mase.arrays import Floats, Ints
from mase.document import PAIR, Document, Field, Input, check_texts
from mase.errors import EmptyTextError, OptionError
from mase.links import Output
from mase.models.base import Binding, Model, Probe
from mase.models.description import Description
from mase.models.scores import check_labels
from mase.models.torch.probe import TorchProbe
from mase.models.transformers import HuggingFace
from mase.responses import probabilities
from mase.text import Tokens, Truncation


@dataclass(frozen=True, slots=True)
class _Answer:
    """How the logits of a pair become the score of its label: entailment, or entailment minus contradiction."""

    entailment: int
    contradiction: int | None

    def score(self, logits: Floats) -> Floats:
        """Return scores `(n,)` from the logits `(n, c)` of n pairs."""
        entailed: Floats = logits[:, self.entailment]
        return entailed if self.contradiction is None else entailed - logits[:, self.contradiction]


class ZeroShot(Model):
    """A classifier of texts into any labels, by a model of natural language inference (NLI).

    It predicts what the pipeline ``zero-shot-classification`` of transformers predicts.

    Parameters
    ----------
    model, tokenizer
        The NLI model: whatever `mase.models.HuggingFace` takes, or such an object.
    labels
        Names of the k classes.
    template
        The hypothesis about the text; its ``{}`` is replaced by a label.
    multilabel
        Whether the labels are separate questions. Otherwise exactly one of them is true. A single label is always a
        question.

    Raises
    ------
    OptionError
        If there is no label, the template has no ``{}``, or no class of the model is called entailment.

    Notes
    -----
    One evaluation of this model is one forward pass for each label. There are no gradients.
    """

    name: str
    has_embeddings = True

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        labels: Sequence[str],
        template: str = "This example is {}.",
        multilabel: bool = False,
    ) -> None:
        self.nli = model if isinstance(model, HuggingFace) else HuggingFace(model, tokenizer)
        self._given, self._template = check_labels(labels), template
        if "{}" not in template:
            raise OptionError(f"template is {template!r}, expected one with {{}} in the place of the label")
        self._multilabel = multilabel or len(labels) == 1
        self._answer = _answer(self.nli.labels, against=self._multilabel)
        self._tokenizer = replace(self.nli.tokenizer, only_first=True)
        self.name = self.nli.name

    @property
    def references(self) -> tuple[str, ...]:
        """The references of the NLI model."""
        return self.nli.references

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes."""
        return self._given if len(self._given) > 1 else (f"not {self._given[0]}", self._given[0])

    @property
    def description(self) -> Description:
        """What the model was taken for."""
        kind = f"zero-shot classifier {type(self.nli.module).__name__}"
        of_module: Description = self.nli.description
        return replace(of_module, kind=kind, labels_from="labels", guesses=())

    @property
    def sha256(self) -> str:
        """Checksum of the weights of the NLI model, the labels and the template."""
        question = [self.nli.sha256, self._given, self._template, self._multilabel]
        return hashlib.sha256(json.dumps(question).encode()).hexdigest()

    def reads(self) -> dict[str, Any]:
        """Return how the NLI model reads texts."""
        return self.nli.reads()

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return Output("logits", self._multilabel and len(self._given) > 1)

    def encode(self, text: Input) -> Tokens:
        """Return the tokens of the text that the model reads in any of the pairs, without those of the hypotheses.

        Raises
        ------
        InvalidTextError
            If there are several fields.
        EmptyTextError
            If there are only special tokens.
        """
        document = Document.of(text)
        document.only_text(self.name)
        pairs = self._pairs(document)
        longest = max(pairs, key=lambda pair: len(_of_text(pair)))
        read = _of_text(longest)
        if not read:
            raise EmptyTextError(f"text {document.text[:40]!r} has no word that the model can read beside its labels")
        n_total = len(read) + (longest.truncation.n_total - longest.truncation.n_kept if longest.truncation else 0)
        return Tokens(
            document,
            tuple(longest.ids[index] for index in read),
            tuple(longest.pieces[index] for index in read),
            tuple(longest.spans[index] for index in read),
            (False,) * len(read),
            Truncation(len(read), n_total, self._tokenizer.keep) if n_total > len(read) else None,
            special=tuple(span for span in longest.special if span[1] <= len(document.text)),
            unknown_id=longest.unknown_id,
        )

    def bind(self, binding: Binding) -> "ZeroShotProbe":
        """Return the probe of one text."""
        probes = []
        for pair in self._pairs(binding.tokens.document):
            indices, of_token = _of_text(pair), np.full(len(pair), -1)
            known = binding.coordinate_of_token
            side = slice(len(indices)) if self._tokenizer.keep == "start" else slice(len(known) - len(indices), None)
            of_token[indices] = known[side]
            probes.append(self.nli.bind(replace(binding, tokens=pair, coordinate_of_token=of_token)))
        return ZeroShotProbe(tuple(probes), self._answer, self.output, len(self._given) == 1)

    def predict(self, texts: Sequence[Input]) -> Floats:
        """Return class probabilities `(n, k)`.

        Raises
        ------
        InvalidTextError
            If a text has several fields.
        """
        pairs = [pair for text in check_texts(texts, tuples=True) for pair in self._pairs(Document.of(text))]
        scores = self._answer.score(self.nli.token_scores(pairs)).reshape(-1, len(self._given))
        return probabilities(_table(scores, one_column=len(self._given) == 1), self.output)

    def _pairs(self, document: Document) -> list[Tokens]:
        """Return the tokens of the text with the hypothesis of each label, which is fixed."""
        text = document.only_text(self.name)
        hypotheses = [Field(PAIR[1], self._template.replace("{}", label), fixed=True) for label in self._given]
        return [self._tokenizer.tokens(Document((Field(PAIR[0], text), hypothese))) for hypothese in hypotheses]


@dataclass(frozen=True, slots=True)
class ZeroShotProbe(Probe):
    """A zero-shot classifier bound to one text: one probe per label. See `mase.models.base.Probe`."""

    probes: tuple[TorchProbe, ...]
    pooled: _Answer
    output: Output
    one_column: bool

    @property
    def scale(self) -> Floats:
        """Standard deviations per unit of sigma `(p,)`; 0 for a word that is read with no label."""
        scale: Floats = np.max([probe.scale for probe in self.probes], axis=0)
        return scale

    @property
    def start(self) -> Floats:
        """Scores of the text itself `(1, k)`."""
        return self._joined([probe.start for probe in self.probes])

    @property
    def n_setup(self) -> int:
        """Number of evaluations for binding."""
        return max(probe.n_setup for probe in self.probes)

    @property
    def batch_size(self) -> int:
        """Recommended number of rows per batch."""
        return min(probe.batch_size for probe in self.probes)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)`; `rows` `(b,)` are their indices in the design."""
        return self._joined([probe.scores(coordinates, rows) for probe in self.probes])

    def exchanged(self, sources: Ints) -> Floats:
        """Return scores `(b, k)` where word i has the vectors of word `sources[:, i]`; `sources` is `(b, p)`."""
        return self._joined([probe.exchanged(sources) for probe in self.probes])

    def _joined(self, logits: Sequence[Floats]) -> Floats:
        scores = np.stack([self.pooled.score(logit) for logit in logits], axis=1)
        return _table(scores, one_column=self.one_column)


def _table(scores: Floats, *, one_column: bool) -> Floats:
    """Return scores `(n, k)` of k >= 2 classes."""
    return np.concatenate([np.zeros_like(scores), scores], axis=1) if one_column else scores


def _of_text(pair: Tokens) -> list[int]:
    """Return the indices of the tokens of the text; those of the hypothesis and special tokens are fixed."""
    return [index for index, fixed in enumerate(pair.fixed) if not fixed]


def _answer(labels: Sequence[str], *, against: bool) -> _Answer:
    """Return the columns of entailment and contradiction, chosen as transformers chooses them."""
    entailment = next((index for index, label in enumerate(labels) if label.lower().startswith("entail")), None)
    if entailment is None:
        raise OptionError(f"the model has the classes {', '.join(labels)}, expected one called entailment")
    return _Answer(entailment, (len(labels) - 1 if entailment == 0 else 0) if against else None)
