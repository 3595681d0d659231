"""Which method suits a model: what the model lacks is replaced, or refused."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mase.errors import CapabilityError
from mase.links import Output
from mase.methods import DEFAULT, Method, resolve, with_reference
from mase.models.optional import AnswerModel
from mase.models.protocol import Model, ValueModel

__all__ = ["suited"]


def suited(method: str | Method | None, model: Model, overrides: Mapping[str, Any]) -> Method:
    """Return the method with overrides, adapted to a model.

    Without a name it is "mase", or the one that a language model asks for. A method that needs embeddings is replaced
    for a model without them, the reference "auto" is resolved, and the link of a model without classes is one of its
    own.

    Raises
    ------
    CapabilityError
        If the method needs embeddings or a reference that the model does not have, or the model has no such link.
    """
    if method is None:
        method = model.default_method if isinstance(model, AnswerModel) else DEFAULT
    chosen = resolve(method)
    if not model.has_embeddings and not chosen.space.binary:
        if chosen.without_embeddings is None:
            raise CapabilityError(
                f"method {chosen.name!r} needs an embedding layer, which {model.name} does not have; use method='mase'"
            )
        chosen = resolve(chosen.without_embeddings)
    chosen = resolve(chosen, **overrides)
    links = _links(model)
    if links is not None and overrides.get("link") is None:
        chosen = replace(chosen, link=links[0])
    elif links is not None and chosen.link not in links:
        raise CapabilityError(
            f"link is {chosen.link!r}, but {model.name} returns values, not class scores, expected one of "
            f"{', '.join(links)}; or leave it out"
        )
    reference = chosen.space.reference
    if reference is None:
        return chosen
    if isinstance(reference, str) and reference == "auto":
        return with_reference(chosen, model.references[0])
    if not isinstance(reference, str) or reference not in model.references:
        raise CapabilityError(
            f"reference is {reference!r:.60}, expected one that {model.name} supports: {', '.join(model.references)}"
        )
    return chosen


def _links(model: Model) -> tuple[str, ...] | None:
    """Return the links of a model without classes; None for a classifier."""
    if isinstance(model, AnswerModel):
        return model.links
    return Output("values").links if isinstance(model, ValueModel) and model.returns_values else None
