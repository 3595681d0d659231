"""Check the options that several models have: their labels, the longest input, and what they return."""

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, get_args

from mase.choices import check_choice
from mase.errors import OptionError
from mase.models.outputs import Kind
from mase.scalars import is_integer
from mase.text import Side

__all__ = ["check_ids", "check_keep", "check_labels", "check_length", "check_outputs", "kept_end"]


def check_labels(labels: Sequence[Any] | None) -> tuple[str, ...]:
    """Return the names of the classes as str.

    Raises
    ------
    OptionError
        If there is none, two are equal, or they are None, a single str, a set, which has no order, or a mapping.
    """
    unordered = isinstance(labels, str | bytes | set | frozenset | Mapping)
    names = tuple(map(str, labels)) if isinstance(labels, Iterable) and not unordered else ()
    if not names or len(set(names)) < len(names):
        raise OptionError(
            f"labels is {labels!r:.200}, expected one name per class, all different and in the order of the classes, "
            "for example ['neg', 'pos']"
        )
    return names


def check_ids(
    roles: Mapping[str, int | None], special_ids: Collection[int]
) -> tuple[dict[str, int | None], frozenset[int]]:
    """Return the ids of "mask", "unk" and "pad" and those that are never scored, that of "pad" too, as int.

    A tensor would be equal to no id in a set.

    Raises
    ------
    OptionError
        If one is no integer.
    """
    own = {role: None if token is None else _integer(f"{role}_id", token) for role, token in roles.items()}
    fixed = frozenset(_integer("special_ids", token) for token in special_ids)
    pad = own.get("pad")
    return own, fixed if pad is None else fixed | {pad}


def _integer(name: str, token: Any) -> int:
    try:
        return int(operator.index(token))
    except TypeError:
        raise OptionError(f"{name} has {token!r:.60}, expected integer ids of the tokenizer") from None


def check_length(max_length: int | None, least: int = 1, most: int | None = None, what: str = "") -> None:
    """Check the longest input in tokens, from `least` to `most`; None is valid. `what` ends the message.

    Raises
    ------
    OptionError
        If it is no integer in this range.
    """
    if max_length is None:
        return
    if not is_integer(max_length) or max_length < least or (most is not None and max_length > most):
        valid = f">= {least}" if most is None else f"from {least} to {most}"
        raise OptionError(f"max_length is {max_length!r:.60}, expected an integer {valid}{what}")


def check_keep(keep: str) -> None:
    """Check which end of a longer text a model reads.

    Raises
    ------
    OptionError
        If it is neither "start" nor "end".
    """
    check_choice("keep", keep, get_args(Side))


def kept_end(keep: Side | None, truncation_side: object) -> Side:
    """Return which end of a longer text a model reads: the given one, or that of its tokenizer's `truncation_side`."""
    if keep is not None:
        return keep
    return "end" if truncation_side == "left" else "start"


def check_outputs(outputs: str, *, multilabel: bool) -> None:
    """Check the kind of what a model returns; see `mase.models.outputs.recognise`.

    Raises
    ------
    OptionError
        If there is no such kind, or values are said to be several questions.
    """
    check_choice("outputs", outputs, get_args(Kind))
    if multilabel and outputs == "values":
        raise OptionError("multilabel is True, expected False for outputs='values', which are no classes")
