"""The classes that are explained."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from unicodedata import normalize

from mase.defaults import LARGEST, is_integer
from mase.errors import OptionError
from mase.registry import unknown

ALL = "all"
_MOST_LABELS = 60  # that a message lists
Label = str | int | None  # a label or an index
Target = Label | Sequence[str | int]  # or several of them, or "all"; None is the predicted class


@dataclass(frozen=True, slots=True)
class Question:
    """Which classes, or values, of a model are explained, and for a contrast, rather than which other one.

    Parameters
    ----------
    target
        A label or an index; several of them, the leading one first; "all" for all, the most probable first; None for
        the most probable class, or the first of several values. A label comes before an index, as a number and as a
        string of digits: of the classes 1, 2 and 3, 1 is the first. A label may be in another normal form of Unicode.
    against
        A label or an index: the other class. None for no contrast.
    """

    target: Target = None
    against: Label = None

    @classmethod
    def about(cls, labels: Sequence[str], targets: Sequence[int], against: int | None = None) -> Self:
        """Return the question about the classes with these indices."""
        return cls([labels[target] for target in targets], None if against is None else labels[against])

    def indices(self, labels: Sequence[str], ranked: Sequence[int]) -> tuple[int, ...]:
        """Return the indices of the classes among the k labels, the leading one first.

        `ranked` are the indices of all, the most probable first (`mase.attribution.Prediction.ranked`).
        """
        against = self.against_index(labels)
        if self.target is None:
            result = [ranked[0]]
        elif self._all(labels):
            result = [index for index in ranked if index != against]
        elif isinstance(self.target, Sequence) and not isinstance(self.target, str | bytes):
            result = [_index(labels, item, "target") for item in self.target]
        else:
            result = [_index(labels, self.target, "target")]
        if not result or len(set(result)) < len(result):
            raise OptionError(f"target is {self.target!r:.80}, expected at least one class, each once")
        if against is not None and against in result:
            raise OptionError(f"target and against are both {labels[against]!r:.40}, expected two classes")
        return tuple(result)

    def against_index(self, labels: Sequence[str]) -> int | None:
        """Return the index of the class that the others are compared with."""
        return None if self.against is None else _index(labels, self.against, "against")

    def named(self, labels: Sequence[str]) -> "Question":
        """Return the same question with labels in the place of indices, as runs record it."""
        against = self.against_index(labels)
        other = None if against is None else labels[against]
        if self.target is None or self._all(labels):
            return Question(self.target, other)
        names = [labels[index] for index in self.indices(labels, range(len(labels)))]
        return Question(names[0] if len(names) == 1 else names, other)

    def _all(self, labels: Sequence[str]) -> bool:
        """Return whether all classes are asked for, which a class of that name would rule out."""
        return isinstance(self.target, str) and self.target == ALL and ALL not in labels


def listed(target: str | None, labels: Sequence[str]) -> Target:
    """Return the target that a command names: a label, or several, separated by commas, if that is no label.

    Examples
    --------
    >>> listed("pos,neg", ["neg", "pos"]), listed("yes, sir", ["no", "yes, sir"])
    (['pos', 'neg'], 'yes, sir')
    """
    if target is None or "," not in target or label_index(labels, target) is not None:
        return target
    return [part.strip() for part in target.split(",")]


def label_index(labels: Sequence[str], name: str) -> int | None:
    """Return the index of a label; None if there is none that reads so.

    The name may be in another normal form of Unicode, as é in one character or in two, unless several labels differ in
    nothing else.

    Examples
    --------
    >>> label_index(["noir", "caf\\xe9"], "cafe\\u0301")
    1
    """
    if name in labels:
        return labels.index(name)
    composed = normalize("NFC", name)
    alike = [index for index, label in enumerate(labels) if normalize("NFC", label) == composed]
    return alike[0] if len(alike) == 1 else None


def _index(labels: Sequence[str], target: str | bytes | int, option: str) -> int:
    """Return the index of a class: that of the label, if there is one that reads so."""
    named = label_index(labels, str(target))
    if named is None and is_integer(target) and abs(int(target)) <= LARGEST:
        named = label_index(labels, str(float(target)))  # a column of integers in which one is missing holds floats
    if named is not None:
        return named
    if isinstance(target, str) and not re.fullmatch(r"-?[0-9]+", target):
        raise unknown(option, target, list(labels))
    if not isinstance(target, str) and not is_integer(target):
        several = ", a list of them" if option == "target" else ""
        raise OptionError(f"{option} is of type {type(target).__name__}, expected a label, an index{several} or None")
    index = int(target)
    if not 0 <= index < len(labels):
        known = ", ".join(labels[:_MOST_LABELS]) + (", ..." if len(labels) > _MOST_LABELS else "")
        raise OptionError(f"{option} is {index}, expected a label ({known}) or an index from 0 to {len(labels) - 1}")
    return index
