"""How far an answer agrees with the explained one: label, exact, overlap, embedding, or a function."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from mase.defaults import check_choice
from mase.errors import MaseError, MissingDependencyError, ModelError, OptionError
from mase.models.names import is_url
from mase.text import find_words

# Names of labels, or a pattern for each of them.
Labels = Sequence[str] | Mapping[str, str]
# The agreement of n answers with the explained one: 1 for those that say the same.
Values = Callable[[Sequence[str], str], list[float]]
NAMES = ("label", "exact", "overlap", "embedding")


def exact(answer: str, explained: str) -> float:
    """Return 1 if two answers are the same but for white space, else 0.

    Examples
    --------
    >>> exact("Cleo  swims.", "Cleo swims."), exact("Cleo reads.", "Cleo swims.")
    (1.0, 0.0)
    """
    return float(answer.split() == explained.split())


def overlap(answer: str, explained: str) -> float:
    """Return the F1 of the words of two answers, case aside.

    This is the F1 of Rajpurkar et al. (SQuAD, 2016), without its list of English articles: punctuation does not count,
    and in scripts without spaces a word is a character. Answers without words, as of emoji, agree if they are the same.

    Examples
    --------
    >>> overlap("Cleo reads.", "Cleo swims."), overlap("", "Cleo swims."), overlap("", "")
    (0.5, 0.0, 1.0)
    """
    item, other = _bag(answer), _bag(explained)
    if not item and not other:
        return exact(answer, explained)
    return 2 * (item & other).total() / (item.total() + other.total())


def _bag(text: str) -> Counter[str]:
    words = (text[start:end].casefold() for start, end in find_words(text))
    return Counter(word for word in words if any(map(str.isalnum, word)))


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads the label of an answer: one of the names, or None for an answer without a label.

    Parameters
    ----------
    labels
        The names of at least two labels, or a regular expression for each of them. By default, an answer has the label
        that it names as a word, case aside; the one that it begins with, if it names several.
    read
        A function from an answer to a label, or None; or a regular expression whose first group is the label.

    Examples
    --------
    >>> label = Reader(["positive", "negative"])
    >>> label("Positive, I think."), label("negative - not positive"), label("either positive or negative")
    ('positive', 'negative', None)
    """

    labels: Labels
    read: Callable[[str], str | None] | str | None = None

    def __post_init__(self) -> None:
        is_series = isinstance(self.labels, Sequence | Mapping) and not isinstance(self.labels, str)
        if not is_series or len(self._folded) < max(2, len(self.labels)):
            raise OptionError(
                f"labels is {self.labels!r:.80}, expected at least two different names, as in ['positive', 'negative']"
            )
        if isinstance(self.labels, Mapping):
            for pattern in self.labels.values():
                _compiled("labels", pattern)
        if isinstance(self.read, str):
            _compiled("read", self.read)

    @property
    def _folded(self) -> dict[str, str]:
        names = {name.strip().casefold(): name for name in self.labels if isinstance(name, str)}
        return {folded: name for folded, name in names.items() if folded}

    def __call__(self, answer: str) -> str | None:
        """Return the label of an answer."""
        if self.read is None:
            return self._named(answer)
        if callable(self.read):
            label = _told("read", self.read, answer)
        else:
            pattern = _compiled("read", self.read)
            match = pattern.search(answer)
            label = None if match is None else match[min(1, pattern.groups)]
        return None if label is None else self._folded.get(str(label).strip().casefold())

    def _named(self, answer: str) -> str | None:
        """Return the only label whose pattern occurs, or of several the one that begins the answer."""
        patterns = self.labels if isinstance(self.labels, Mapping) else {name: _of_name(name) for name in self.labels}
        places = [
            (*match.span(), name)
            for name, pattern in patterns.items()
            for match in _compiled("labels", pattern).finditer(answer)
        ]
        # Of "very positive" and "positive" in one place, the longer one.
        kept = [
            (start, name)
            for start, end, name in places
            if not any(item <= start and end <= other and (item, other) != (start, end) for item, other, _ in places)
        ]
        if len({name for _, name in kept}) == 1:
            return kept[0][1]
        first = next((index for index, char in enumerate(answer) if char.isalnum()), 0)
        return next((name for start, name in sorted(kept) if start <= first), None)


def _of_name(name: str) -> str:
    """Return the pattern of a name as a whole word; scripts without case mostly write no spaces between words."""
    before, after = (char.isdigit() or char.lower() != char.upper() for char in (name[0], name[-1]))
    return r"(?<!\w)" * before + re.escape(name) + r"(?!\w)" * after


def _compiled(option: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE)
    except (re.error, TypeError) as error:
        raise OptionError(f"{option} has {pattern!r:.80} ({error}), expected a regular expression") from None


def cosines(embed: Callable[[list[str]], Any], answers: Sequence[str], explained: str) -> list[float]:
    """Return the cosine of the vector of each answer and that of the explained one; each text is embedded once."""
    texts = list(dict.fromkeys([explained, *answers]))
    try:
        vectors = np.asarray(_told("embedding", embed, texts), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"the embedding returned no array of numbers ({error}), expected a vector for each text"
        ) from error
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ModelError(
            f"the embedding returned shape {vectors.shape} for {len(texts)} texts, expected a vector of finite numbers "
            "for each"
        )
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    of_text = dict(zip(texts, (vectors @ vectors[0]).tolist(), strict=True))
    return [of_text[answer] for answer in answers]


def _told(what: str, function: Callable[..., Any], *given: Any) -> Any:
    """Return what a function of the user returns, or raise an error that names it."""
    try:
        return function(*given)
    except (MaseError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelError(f"{what} raised {reason}; it was given {', '.join(map(repr, given))!s:.200}") from error


def _each(name: str, function: Callable[[str, str], float]) -> Values:
    def values(answers: Sequence[str], explained: str) -> list[float]:
        try:
            result = [float(_told(f"measure {name}", function, answer, explained)) for answer in answers]
        except (TypeError, ValueError) as error:
            raise ModelError(f"measure {name} failed ({error}), expected a number for two answers") from error
        if not all(map(math.isfinite, result)):
            raise ModelError(f"measure {name} returned {result!r:.60}, expected finite numbers")
        return result

    return values


def measures(
    measure: str | Callable[[str, str], float] | None, *, label: Reader | None, embedding: Any = None
) -> dict[str, Values]:
    """Return the measures of an explanation by name, the chosen one first: the others cost no request.

    Parameters
    ----------
    measure
        "label", "exact", "overlap", "embedding", or a function of an answer and the explained one. By default "label"
        where there are labels, else "overlap".
    label
        Reads labels; None without labels.
    embedding
        The name or folder of a model of `sentence-transformers`, the URL of an OpenAI-compatible server of embeddings,
        or a function from n texts to vectors `(n, d)`, such as `mase.models.chat.completions.Embeddings`.
    """
    known = {"exact": _each("exact", exact), "overlap": _each("overlap", overlap)}
    if label is not None:
        same = _each("label", lambda item, other: label(item) is not None and label(item) == label(other))
        known = {"label": same, **known}
    if embedding is not None:
        embed = _embedding(embedding)
        known["embedding"] = lambda answers, explained: cosines(embed, answers, explained)
    if measure is None:
        measure = "overlap" if label is None else "label"
    elif callable(measure):
        name = getattr(measure, "__name__", "measure")
        known[name], measure = _each(name, measure), name
    else:
        check_choice("measure", measure, NAMES)
    if measure not in known:
        needs = "labels=['yes', 'no']" if measure == "label" else "embedding='NAME', a model of sentence-transformers"
        raise OptionError(f"measure is {measure!r} without what it needs, expected {needs}")
    return {measure: known[measure], **known}


def _embedding(model: Any) -> Callable[[list[str]], Any]:
    function: Callable[[list[str]], Any]
    if callable(model):
        function = model
    elif not isinstance(model, str):
        raise OptionError(
            f"embedding is of type {type(model).__name__}, expected the name of a model of sentence-transformers, or a "
            "function from texts to vectors"
        )
    elif is_url(model):
        from mase.models.chat.completions import Embeddings

        function = Embeddings(model)
    else:
        try:
            function = import_module("sentence_transformers").SentenceTransformer(model).encode
        except ImportError as error:
            raise MissingDependencyError(
                f"sentence_transformers cannot be imported ({error}); run: pip install sentence-transformers"
            ) from error
    return function
