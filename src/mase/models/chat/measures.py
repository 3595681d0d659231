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
from mase.errors import MissingDependencyError, ModelError, OptionError
from mase.models.names import is_url
from mase.text import find_words

Reader = Callable[[str], str | None]
# Names of labels, or a pattern for each of them.
Labels = Sequence[str] | Mapping[str, str]
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
    and in scripts without spaces a word is a character.

    Examples
    --------
    >>> overlap("Cleo reads.", "Cleo swims."), overlap("", "Cleo swims."), overlap("", "")
    (0.5, 0.0, 1.0)
    """
    one, other = _bag(answer), _bag(explained)
    if not one or not other:
        return float(one == other)
    return 2 * (one & other).total() / (one.total() + other.total())


def _bag(text: str) -> Counter[str]:
    words = (text[start:end].casefold() for start, end in find_words(text))
    return Counter(word for word in words if any(map(str.isalnum, word)))


def reader(labels: Labels, read: Reader | str | None = None) -> Reader:
    """Return the function that reads the label of an answer; it returns None for one without a label.

    Parameters
    ----------
    labels
        The names of the labels, or a regular expression for each of them. By default, an answer has the label that it
        names as a word, case aside; the one that it begins with, if it names several.
    read
        A function from an answer to a label, or None; or a regular expression whose first group is the label.

    Examples
    --------
    >>> label = reader(["positive", "negative"])
    >>> label("Positive, I think."), label("negative - not positive"), label("either positive or negative")
    ('positive', 'negative', None)
    """
    names = {name.casefold(): name for name in labels}
    if callable(read):
        function = read
        return lambda answer: _known(function(answer), names)
    if read is not None:
        pattern = _compiled("read", read)
        return lambda answer: _known(
            match[min(1, pattern.groups)] if (match := pattern.search(answer)) else None, names
        )
    patterns = {
        name: _compiled("labels", labels[name]) if isinstance(labels, Mapping) else _of_name(name) for name in labels
    }
    return lambda answer: _named(answer, patterns)


def _named(answer: str, patterns: Mapping[str, re.Pattern[str]]) -> str | None:
    """Return the only label whose pattern occurs, or of several the one that begins the answer."""
    places: list[tuple[int, int, str]] = []
    for name, pattern in patterns.items():
        places += [(match.start(), -match.end(), name) for match in pattern.finditer(answer)]
    # Of "very positive" and "positive" in one place, the longer one.
    kept = [
        one
        for one in places
        if not any(
            other[0] <= one[0] and other[1] <= one[1] and other[:2] != one[:2] for other in places if other is not one
        )
    ]
    names = {name for _, _, name in kept}
    if len(names) == 1:
        return names.pop()
    start = next((index for index, char in enumerate(answer) if char.isalnum()), 0)
    return next((name for place, _, name in sorted(kept) if place <= start), None)


def _known(label: Any, names: Mapping[str, str]) -> str | None:
    """Return a label by its name among the known ones, case aside."""
    return names.get(str(label).strip().casefold()) if label is not None else None


def _of_name(name: str) -> re.Pattern[str]:
    """Return the pattern of a name as a whole word; scripts without case mostly write no spaces between words."""

    def edge(char: str, sign: str) -> str:
        return sign if char.isdigit() or char.lower() != char.upper() else ""

    return re.compile(edge(name[:1], r"(?<!\w)") + re.escape(name) + edge(name[-1:], r"(?!\w)"), re.IGNORECASE)


def _compiled(option: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE)
    except (re.error, TypeError) as error:
        raise OptionError(f"{option} has {pattern!r:.80} ({error}), expected a regular expression") from None


def check_labels(labels: Labels) -> tuple[str, ...]:
    """Return the names of at least two labels."""
    if isinstance(labels, str) or not isinstance(labels, Sequence | Mapping):
        raise OptionError(f"labels is {labels!r:.60}, expected names such as ['positive', 'negative']")
    names = tuple(labels)
    if len(names) < 2 or len({str(name).casefold() for name in names}) < len(names):
        raise OptionError(f"labels is {labels!r:.80}, expected at least two different names")
    blank = next((name for name in names if not isinstance(name, str) or not name.strip()), None)
    if blank is not None:
        raise OptionError(f"labels has {blank!r:.60}, expected names that are not blank")
    return names


@dataclass(frozen=True, slots=True)
class Measure:
    """A number for each answer, beside the explained one: 1 if they say the same.

    Attributes
    ----------
    name
        Its name, which is that of a response.
    function
        The agreement of two answers, from 0 to 1.
    embed
        For "embedding", the function from n texts to vectors `(n, d)`; None otherwise.
    """

    name: str
    function: Callable[[str, str], float] | None = None
    embed: Callable[[list[str]], Any] | None = None

    def values(self, answers: Sequence[str], explained: str) -> list[float]:
        """Return the agreement of each answer with the explained one."""
        if self.embed is not None:
            return cosines(self.embed, answers, explained)
        assert self.function is not None
        try:
            values = [float(self.function(answer, explained)) for answer in answers]
        except (TypeError, ValueError) as error:
            raise ModelError(f"measure {self.name} failed ({error}), expected a number for two answers") from error
        bad = next((value for value in values if not math.isfinite(value)), None)
        if bad is not None:
            raise ModelError(f"measure {self.name} returned {bad}, expected finite numbers")
        return values


def cosines(embed: Callable[[list[str]], Any], answers: Sequence[str], explained: str) -> list[float]:
    """Return the cosine of the vector of each answer and that of the explained one; each text is embedded once."""
    texts = list(dict.fromkeys([explained, *answers]))
    vectors = np.asarray(embed(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise ModelError(
            f"the embedding returned shape {vectors.shape} for {len(texts)} texts, expected a vector of finite numbers "
            "for each"
        )
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    of_text = dict(zip(texts, (vectors @ vectors[0]).tolist(), strict=True))
    return [of_text[answer] for answer in answers]


def measures(
    measure: str | Callable[[str, str], float] | None, *, label: Reader | None, embedding: Any = None
) -> tuple[Measure, ...]:
    """Return the measures of an explanation, the chosen one first: the others cost no request.

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
    known = {"exact": Measure("exact", exact), "overlap": Measure("overlap", overlap)}
    if label is not None:
        read = label
        same: Callable[[str, str], float] = lambda one, other: float(read(one) is not None and read(one) == read(other))  # noqa: E731
        known = {"label": Measure("label", same), **known}
    if embedding is not None:
        known["embedding"] = Measure("embedding", embed=_embedding(embedding))
    if measure is None:
        first = next(iter(known)) if label is not None else "overlap"
    elif callable(measure):
        first = getattr(measure, "__name__", "measure")
        known = {first: Measure(first, measure), **{name: one for name, one in known.items() if name != first}}
    else:
        check_choice("measure", measure, NAMES)
        first = measure
    if first not in known:
        needs = "labels=['yes', 'no']" if first == "label" else "embedding='NAME', a model of sentence-transformers"
        raise OptionError(f"measure is {first!r} without what it needs, expected {needs}")
    return (known[first], *(one for name, one in known.items() if name != first))


def _embedding(model: Any) -> Callable[[list[str]], Any]:
    if callable(model):
        function: Callable[[list[str]], Any] = model
        return function
    if not isinstance(model, str):
        raise OptionError(
            f"embedding is of type {type(model).__name__}, expected the name of a model of sentence-transformers, or a "
            "function from texts to vectors"
        )
    if is_url(model):
        from mase.models.chat.completions import Embeddings

        return Embeddings(model)
    try:
        package = import_module("sentence_transformers")
    except ImportError as error:
        raise MissingDependencyError(
            f"sentence_transformers cannot be imported ({error}); run: pip install sentence-transformers"
        ) from error
    encode: Callable[[list[str]], Any] = package.SentenceTransformer(model).encode
    return encode
