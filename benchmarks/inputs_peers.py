"""How each library explains a pair, sentences and a long text: the calls that `benchmarks/inputs.py` measures.

Each function returns one score per unit `(w,)`, for the same units, class and number of evaluations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import mase
from mase.arrays import Floats
from mase.document import Document
from mase.metrics.given import align
from mase.text import Span
from mase.units import splitter
from mase.units.splitters import group

__all__ = ["BATCH", "LIBRARIES", "Input", "Reading"]

BATCH = 16
SEPARATOR = " ||| "  # lime takes one string; it never masks what is no word
LSTM_MASK = "UNKWORDZ"  # what lime writes by default; the LSTM does not know the word
WINDOW, STEP = 80, 60  # of the bundled LSTM, in tokens


@dataclass(frozen=True, slots=True)
class Reading:
    """A model as each library needs it.

    Attributes
    ----------
    adapter
        The model for mase.
    module, head
        The torch module, and its last layer: what reaches that is counted.
    tokenizer
        A tokenizer of transformers, or None for the LSTM.
    encode
        Returns ids and spans of a whole text; for the LSTM.
    """

    adapter: Any
    module: Any
    head: Any
    tokenizer: Any = None
    encode: Callable[[str], tuple[list[int], list[Span]]] | None = None

    def function(self, texts: Sequence[str]) -> Floats:
        """Return class probabilities `(n, k)` of texts, or of pairs written with a separator, in padded batches."""
        found = []
        for start in range(0, len(texts), BATCH):
            inputs: list[Any] = [self._pair(str(text)) for text in texts[start : start + BATCH]]
            batch = self.tokenizer(inputs, padding=True, truncation=True, return_tensors="pt")
            found.append(self._answers(**batch).logits.softmax(dim=1))
        return torch.cat(found).numpy()

    def pooled(self, texts: Sequence[str]) -> Floats:
        """Return class probabilities `(n, k)` of long texts: means over windows, as a user would write it."""
        assert self.encode is not None
        ids = [self.encode(str(text))[0] for text in texts]
        lengths = sorted({len(one) for one in ids})
        found = np.empty((len(ids), 2))
        for length in lengths:  # texts of one length have windows in the same places
            rows = [index for index, one in enumerate(ids) if len(one) == length]
            found[rows] = self.over_windows(torch.tensor([ids[index] for index in rows])).softmax(dim=-1).mean(dim=1)
        return found

    def over_windows(self, ids: torch.Tensor) -> torch.Tensor:
        """Return logits `(n, windows, k)` of ids `(n, t)`."""
        last = max(0, ids.shape[1] - WINDOW)
        starts = sorted({*range(0, last, STEP), last})
        windows = torch.stack([ids[:, start : start + WINDOW] for start in starts], dim=1)
        rows = windows.reshape(-1, windows.shape[-1])
        return torch.cat([self._answers(part) for part in rows.split(BATCH)]).reshape(*windows.shape[:2], -1)

    def _answers(self, *args: Any, **options: Any) -> Any:
        with torch.inference_mode():
            return self.module(*args, **options)

    @staticmethod
    def _pair(text: str) -> Any:
        for separator in (SEPARATOR.strip(), "[SEP]"):
            if separator in text:
                first, _, second = text.partition(separator)
                return first.strip(), second.strip()
        return text


@dataclass(frozen=True, slots=True)
class Input:
    """What is explained: a document, its units and spans, the index of the class, and the number of evaluations."""

    reading: Reading
    document: Document
    units: str
    spans: tuple[Span, ...]
    target: int
    n: int
    long: bool = False

    @property
    def joined(self) -> str:
        """The document as one string."""
        return SEPARATOR.join(field.text for field in self.document.fields)

    def unit_at(self, position: int) -> int | None:
        """Return the unit at a position of `joined`, or None if there is none."""
        first = len(self.document.fields[0].text)
        at = position - len(SEPARATOR) + 1 if len(self.document.fields) > 1 and position > first else position
        return next((index for index, (start, end) in enumerate(self.spans) if start <= at < end), None)

    @property
    def function(self) -> Callable[[Sequence[str]], Floats]:
        """The function of texts that explains it."""
        return self.reading.pooled if self.long else self.reading.function

    @property
    def mask(self) -> str:
        """What is written in the place of a unit."""
        return LSTM_MASK if self.reading.tokenizer is None else self.reading.tokenizer.mask_token

    def cut(self, text: str, *, return_offsets_mapping: bool = True) -> dict[str, list[Any]]:
        """Split the text into the units, and any other text not at all: a tokenizer for shap, which asks for spans."""
        spans = list(self.spans) if text == self.document.text else [(0, len(text))] * bool(text)
        return {"input_ids": [text[slice(*span)] for span in spans], "offset_mapping": spans}

    def parts(self, text: str) -> list[str]:
        """Split the text into the units: a tokenizer for lime."""
        return [text[slice(*span)] for span in self.spans]


def by_mase(given: Input) -> Floats:
    """Return the scores of mase with its default method."""
    explainer = mase.Explainer(
        given.reading.adapter, units=given.units, n_samples=given.n, windows=given.long, evidence=0
    )
    return explainer(given.document, target=given.target).scores


def by_mase_cut(given: Input) -> Floats:
    """Return the scores of mase for what the model reads of the text, and 0 for the rest."""
    found = mase.Explainer(given.reading.adapter, units=given.units, n_samples=given.n, evidence=0)(
        given.document, target=given.target
    )
    scores = np.zeros(len(given.spans))
    for (start, end), score in zip(found.spans, found.scores, strict=True):
        scores[[index for index, span in enumerate(given.spans) if span[0] < end and start < span[1]]] = score
    return scores


def by_shap(given: Input) -> Floats:
    """Return the scores of shap: Partition, its choice for texts."""
    import shap

    if given.units == "word":
        # Without a space after the separator: shap masks the separator "[SEP] ", but not "[SEP]".
        text = "[SEP]".join(f"{field.text} " for field in given.document.fields).strip()
        masker = shap.maskers.Text(given.reading.tokenizer)
    else:
        text, masker = given.document.text, shap.maskers.Text(given.cut, mask_token=given.mask)
    labels = list(given.reading.adapter.labels)
    explainer = shap.Explainer(given.function, masker, output_names=labels, algorithm="partition", seed=0)
    values = explainer([text], max_evals=given.n, batch_size=BATCH, silent=True).values[0][:, given.target]
    return align(values, given.reading.adapter, given.document) if given.units == "word" else values


def by_captum(given: Input) -> Floats:
    """Return the scores of captum: Kernel SHAP on token ids, with a mask of features."""
    from captum.attr import KernelShap

    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - captum draws from this generator
    return _captum(given, lambda forward: KernelShap(forward), n_samples=given.n, perturbations_per_eval=BATCH)


def by_leaving_out(given: Input) -> Floats:
    """Return the scores of captum: each unit left out once, whatever the number of evaluations."""
    from captum.attr import FeatureAblation

    return _captum(given, lambda forward: FeatureAblation(forward), perturbations_per_eval=BATCH)


def _captum(given: Input, method: Callable[[Any], Any], **options: Any) -> Floats:
    reading = given.reading
    if given.long:
        assert reading.encode is not None
        ids, spans = reading.encode(given.document.text)
        of_token = [next((i for i, (a, b) in enumerate(given.spans) if a <= start < b), -1) for start, _ in spans]
        unknown = reading.encode(LSTM_MASK)[0][0]

        def forward(rows: torch.Tensor) -> torch.Tensor:
            return reading.over_windows(rows.long()).softmax(dim=-1).mean(dim=1).clone()
    else:
        tokens = reading.adapter.encode(given.document)
        ids, of_token = list(tokens.ids), list(group(tokens, splitter(given.units)).of_token)
        unknown, types = reading.tokenizer.mask_token_id, torch.tensor([tokens.types or [0] * len(tokens)])

        def forward(rows: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                return reading.module(rows.long(), token_type_ids=types.expand(len(rows), -1)).logits

    rows, units = torch.tensor([ids]), torch.tensor([of_token])
    baseline = torch.where(units < 0, rows, torch.full_like(rows, unknown))
    scores = method(forward).attribute(
        rows,
        baselines=baseline,
        target=given.target,
        feature_mask=units.clamp(min=0),
        **options,
    )
    # Every token of a feature has the score of the feature.
    return np.array([float(scores[0, of_token.index(unit)]) for unit in range(len(given.spans))])


def by_lime(given: Input) -> Floats:
    """Return the scores of lime, which replaces each unit by itself (`bow=False`)."""
    from lime.lime_text import LimeTextExplainer

    split: Any = r"\W+" if given.units == "word" else given.parts
    explainer = LimeTextExplainer(
        class_names=list(given.reading.adapter.labels),
        split_expression=split,
        bow=False,
        mask_string=given.mask,
        random_state=0,
    )
    found = explainer.explain_instance(
        given.joined, given.function, labels=(given.target,), num_features=10_000, num_samples=given.n
    )
    scores, string = np.zeros(len(given.spans)), found.domain_mapper.indexed_string
    for word, score in found.as_map()[given.target]:
        unit = given.unit_at(int(string.string_position(word)[0]))
        if unit is not None:
            scores[unit] += score
    return scores


def by_interpreto(given: Input) -> Floats:
    """Return the scores of interpreto: Kernel SHAP of tokens for pairs, of sentences for sentences."""
    from interpreto import Granularity, KernelShap

    torch.manual_seed(0)
    granularity = Granularity.TOKEN if given.units == "word" else Granularity.SENTENCE
    words = given.reading.tokenizer
    texts = [field.text for field in given.document.fields]
    encoded = words(*texts, return_tensors="pt", return_offsets_mapping=True)
    places = granularity.get_indices(encoded, words)[0]
    method = KernelShap(given.reading.module, words, n_perturbations=given.n, granularity=granularity, batch_size=BATCH)
    (found,) = method(encoded, torch.tensor([given.target]))
    by_token = np.zeros(len(given.reading.adapter.encode(given.document)))
    for place, score in zip(places, found.attributions.reshape(-1).tolist(), strict=True):
        by_token[place] = score / len(place)
    return align(by_token, given.reading.adapter, given.document, units=given.units)


LIBRARIES: dict[str, dict[str, Callable[[Input], Floats]]] = {
    "pairs": {
        "mase": by_mase,
        "shap, Partition": by_shap,
        "captum, Kernel SHAP": by_captum,
        "captum, leaving out one by one": by_leaving_out,
        "lime": by_lime,
        "interpreto, Kernel SHAP": by_interpreto,
    },
    "long texts": {
        "mase, windows": by_mase,
        "mase, what the model reads": by_mase_cut,
        "shap, Partition": by_shap,
        "captum, Kernel SHAP": by_captum,
        "captum, leaving out one by one": by_leaving_out,
        "lime": by_lime,
    },
}
LIBRARIES["sentences"] = LIBRARIES["pairs"]
