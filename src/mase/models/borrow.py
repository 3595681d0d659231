"""Run a user's module and restore its state afterwards, also after an exception."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import get_ident
from typing import Any

import torch
from torch import nn

from mase.models.locks import alone
from mase.models.process_setting import ProcessSetting
from mase.rng import untouched

__all__ = ["borrowed", "here"]


@contextmanager
def borrowed(module: nn.Module, *, gradients: bool = False) -> Iterator[None]:
    """Run `module` in eval mode; then restore every submodule's mode, clipped word vectors and the random states.

    The gradients of parameters never change, because only derivatives with respect to coordinates are computed. The
    block uses `no_grad` and not inference mode: a module that caches tensors on itself could not be trained any more
    with inference tensors. The module is locked for this thread, so that two explanations do not mix their hooks and
    modes.
    """
    evaluating = _evaluating(module)
    with _alone(module), untouched(), evaluating, _unclipped(module), torch.set_grad_enabled(gradients), _UNCOMPILED:
        yield


@contextmanager
def _alone(module: nn.Module) -> Iterator[None]:
    """Lock a module for this thread, and its word vectors: another module, such as a wrapper of it, may share them."""
    with ExitStack() as stack:
        for owner in (module, *sorted(_embeddings(module), key=id)):  # in one order, so that no two wait for each other
            stack.enter_context(alone(owner))
        yield


def _embeddings(module: nn.Module) -> list[nn.Embedding | nn.EmbeddingBag]:
    return [part for part in module.modules() if isinstance(part, nn.Embedding | nn.EmbeddingBag)]


def here(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Return a hook that acts in this thread only: in others the module runs for somebody else, as it is."""
    thread = get_ident()
    return lambda *args: hook(*args) if get_ident() == thread else None


def _as_written() -> AbstractContextManager[Any] | None:
    compiler = "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance")
    return torch.compiler.set_stance("force_eager") if compiler else None


# A block in which compiled modules run unwrapped, because compiled code ignores new hooks.
_UNCOMPILED = ProcessSetting(_as_written)


@contextmanager
def _unclipped(module: nn.Module) -> Iterator[None]:
    """Give word vectors back as they were: with `max_norm`, a layer clips those that it reads in its own table."""
    tables = [layer.weight for layer in _embeddings(module) if layer.max_norm is not None]
    own = [table.detach().clone() for table in tables]
    try:
        yield
    finally:
        with torch.no_grad():
            for table, before in zip(tables, own, strict=True):
                table.copy_(before)


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Set every submodule to eval mode, and afterwards to its own mode, by its own method `train` if it has one."""
    modes = [(part, part.training) for part in module.modules()]
    own = [part for part, training in modes if training and type(part).train is not nn.Module.train]
    try:
        for part in own:
            part.train(False)
        for part, training in modes:
            if training:
                part.training = False
        yield
    finally:
        for part in own:
            part.train(True)
        for part, training in modes:
            part.training = training
