"""What a page can choose from: all of it comes from the registries."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from mase.errors import PluginError
from mase.links import LINKS, LINKS_WITHOUT_CLASSES
from mase.methods import METHODS
from mase.registry import Registry
from mase.render.pieces import model_name
from mase.serve.limits import Limits
from mase.serve.messages import CITE, Settings
from mase.units import UNITS

__all__ = ["choices"]


def choices(
    models: Iterable[Mapping[str, Any]],
    corpora: Iterable[Mapping[str, str]],
    limits: Limits,
    fields: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the choices as plain JSON types."""
    return {
        "models": list(_labelled(models)),
        "methods": list(_methods()),
        "units": list(UNITS.names),
        "links": list(LINKS.names),
        "answer_links": list(LINKS_WITHOUT_CLASSES["log-probabilities"]),
        "corpora": list(corpora),
        "limits": limits.to_dict(),
        "defaults": msgspec.structs.asdict(Settings()) | {"fields": list(fields)},
        "cite": msgspec.structs.asdict(CITE),
    }


def _labelled(models: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """Yield the models with a label: of a path the last part, which a select box shows, unless two have the same."""
    named = [(model, model_name(model["name"])) for model in models]
    n_named = Counter(label for _, label in named)
    for model, label in named:
        yield {**model, "label": label if n_named[label] == 1 else model["name"]}


def _methods() -> Iterable[dict[str, Any]]:
    for name in cast(Registry, METHODS).names:
        try:
            method = METHODS[name]
        except PluginError:  # a broken plug-in must not affect other methods
            continue
        yield {
            "name": name,
            "summary": method.summary,
            "needs_gradients": method.strategy.needs_gradients,
            "needs_embeddings": not method.space.binary,
            "n_samples": method.n_samples,
        }
