"""What tells a model from others, as results record it."""

from collections.abc import Mapping
from typing import Any

from mase.models.code_reference import code_sha256
from mase.models.language.protocol import LanguageModel
from mase.models.optional import PromptedModel, ReadingModel
from mase.models.protocol import Model

__all__ = ["as_recorded", "has_checksum", "identity", "identity_in_run", "is_same", "reads_of", "unknown_model"]

# The checksum of the source file of a model. It says nothing of what the code loads, and earlier releases did not
# record it in attributions.
_CODE = "code_sha256"
# How a model reads texts, which runs and the files of `mase explain` record.
_READS = "reads"


def identity(model: Model) -> dict[str, Any]:
    """Return the name and the checksum of a model, of a language model how it is prompted, and of code its checksum.

    The values are plain JSON types.
    """
    prompted = model.prompting if isinstance(model, PromptedModel) else {}
    code = code_sha256(model)
    return {"name": model.name, "sha256": model.sha256, **prompted, **({} if code is None else {_CODE: code})}


def identity_in_run(model: Model) -> dict[str, Any]:
    """Return the identity of a model with how it reads texts, which takes too long to find out for each text."""
    reads = reads_of(model)
    return identity(model) | ({_READS: reads} if reads else {})


def reads_of(model: Model | LanguageModel) -> dict[str, Any]:
    """Return how a model reads texts, as plain JSON types; empty if it does not say."""
    return dict(model.reads()) if isinstance(model, ReadingModel) else {}


def as_recorded(model: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the identity of a model, without what the recorded one may lack and lacks: `_CODE` and `_READS`."""
    return {key: value for key, value in model.items() if key not in (_CODE, _READS) or key in recorded}


def is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two identities are of the same model. What may be missing counts if both have it."""
    return as_recorded(one, other) == as_recorded(other, one)


def has_checksum(recorded: Mapping[str, Any]) -> bool:
    """Return whether a model has a checksum, by which it is known again; that of its code does not suffice."""
    return any(value is not None for key, value in recorded.items() if key.endswith("sha256") and key != _CODE)


def unknown_model(recorded: Mapping[str, Any], kept: str, remedy: str) -> str:
    """Return the warning that a model without a checksum may not be the one that made the results which are kept."""
    only = " but that of its source file" if _CODE in recorded else ""
    return (
        f"the model {recorded['name']!r:.100} has no checksum{only}: whether it is the one of {kept}, which are kept, "
        f"is not known; {remedy} if it is not"
    )
