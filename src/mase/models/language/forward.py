"""Forward passes of a causal language model that compute logits only at chosen positions, with a cache or without."""

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call

from mase.errors import CapabilityError
from mase.models.borrow import borrowed, here
from mase.models.devices import device_of
from mase.models.engine import user_code

__all__ = ["Cache", "Forward", "half_weights"]

# The names under which models of transformers return keys and values, or states, and take them again.
_CACHES = ("cache", "past_key_values", "cache_params")
# What a cache raises that cannot be shortened, such as one of states, or of a window that is full.
_UNSHORTENED = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Cache:
    """What a model keeps of n tokens that it has read: a cache of transformers, and the name of its argument."""

    name: str
    value: Any

    def copies(self, n: int) -> "Cache":
        """Return a cache for n rows from one for a single row, which stays as it is."""
        value = copy.deepcopy(self.value)
        value.reorder_cache(torch.zeros(n, dtype=torch.long))
        return Cache(self.name, value)

    def without(self, n: int) -> "Cache | None":
        """Return a cache without the last n tokens; this one stays as it is. None if the model needs all of them."""
        value = copy.deepcopy(self.value)
        try:
            if n:
                value.crop(-n)
        except _UNSHORTENED:
            return None
        return Cache(self.name, value)


@dataclass(frozen=True, slots=True)
class Forward:
    """A causal language model of transformers, as a function from ids to logits at some positions.

    Attributes
    ----------
    module
        The model. It is changed only inside of `running`.
    half
        Weights in half precision, by name; none to run the model as it is.
    """

    module: nn.Module
    half: Mapping[str, torch.Tensor] | None = None

    @property
    def device(self) -> torch.device:
        """The device of the ids."""
        device = device_of(self.module.get_input_embeddings())  # type: ignore[operator]
        return device if device.type != "meta" else device_of(self.module)

    @property
    def rounds(self) -> bool:
        """Whether it computes with 16 bits."""
        weights = (weight.dtype for weight in self.module.parameters() if weight.is_floating_point())
        return self.half is not None or any(dtype.itemsize < torch.float32.itemsize for dtype in weights)

    @property
    def switch(self) -> int | None:
        """The length of a row above which the model encodes all of its positions otherwise; None if there is none.

        Models with "longrope", such as those of the Phi family, have two sets of frequencies. Keys of one set say
        nothing to queries of the other.
        """
        config: Any = self.module.config
        parameters = getattr(config.get_text_config(), "rope_parameters", None) or {}
        each = [one for one in (parameters, *parameters.values()) if isinstance(one, Mapping)]  # or one for each layer
        lengths = [one.get("original_max_position_embeddings") for one in each if one.get("rope_type") == "longrope"]
        return min(filter(None, lengths), default=None)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Borrow the module and set its precision, for any number of passes."""
        with ExitStack() as stack:
            stack.enter_context(borrowed(self.module))
            stack.enter_context(torch.autocast(self.device.type, torch.bfloat16, enabled=self.half is not None))
            yield

    def __call__(
        self, rows: Sequence[Sequence[int]], positions: Sequence[int], cache: Cache | None = None, *, keep: bool = False
    ) -> tuple[torch.Tensor, Cache | None]:
        """Return logits `(m, vocabulary)` at m positions, and the cache after them if it is to be kept.

        Parameters
        ----------
        rows
            The ids of b rows. Shorter ones are padded at their end, where they have no effect.
        positions
            The m positions in the padded rows one after the other: w * row + position, where w is the longest length.
        cache
            What the model keeps of the tokens before them, of b rows; the model writes to it.
        keep
            Whether to return a cache; None where the model returns none.
        """
        ids = torch.as_tensor(_padded(rows), device=self.device)
        index = torch.as_tensor(np.asarray(positions, dtype=np.int64))
        arguments: dict[str, Any] = {"input_ids": ids, "use_cache": keep or cache is not None, "return_dict": True}
        if cache is not None:
            arguments[cache.name] = cache.value
        logits, output = self.logits(arguments, index)
        return logits, self.cache_of(output) if keep else None

    def cache_of(self, output: Any) -> Cache | None:
        """Return the cache in an output, with the name of the argument that takes it; None if there is none.

        An output may have it under a name that the model does not know, as that of a newer version of transformers.
        """
        known = inspect.signature(self.module.forward).parameters
        names = [name for name in _CACHES if name in known] or _CACHES  # a wrapper may take any arguments
        found = ((name, getattr(output, name, None)) for name in names)
        return next((Cache(name, value) for name, value in found if value is not None), None)

    def logits(self, arguments: Mapping[str, Any], index: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """Return logits `(m, vocabulary)` at m positions of the rows one after the other, and all that is returned.

        Raises
        ------
        ModelError
            If the model fails.
        """
        with user_code("the model"), self._only_at(index) as reached:
            output = self._called(arguments)
            logits = output.logits
        if not reached:
            logits = logits.flatten(0, 1)[index.to(logits.device)]
        return logits.reshape(-1, logits.shape[-1])[: len(index)], output

    def _called(self, arguments: Mapping[str, Any]) -> Any:
        if self.half is None:
            return self.module(**arguments)
        return functional_call(self.module, dict(self.half), kwargs=dict(arguments), tie_weights=False)

    @contextmanager
    def _only_at(self, index: torch.Tensor) -> Iterator[list[int]]:
        """Let the head compute logits only at m positions; yield a list that is empty unless the head took part.

        What a model does with logits after its head, such as a cap, is done by the model itself. A head that is asked
        for anything but the vectors `(b, t, d)` of all tokens, such as several predictions for each, stays as it is.
        """
        reached: list[int] = []
        head = self.module.get_output_embeddings()  # type: ignore[operator]
        with ExitStack() as exact, ExitStack() as hooks:

            def select(_: nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
                if args[0].ndim != 3:
                    return args
                vectors = args[0].flatten(0, -2)
                chosen = vectors[index.to(vectors.device)] if len(index) else vectors[:1]
                reached.append(len(index))
                if self.half is not None:  # eight bits would hide differences between rows
                    exact.enter_context(torch.autocast(vectors.device.type, enabled=False))
                    chosen = chosen.float()
                return (chosen[None], *args[1:])

            if isinstance(head, nn.Module):
                hooks.callback(head.register_forward_pre_hook(here(select)).remove)
                hooks.callback(head.register_forward_hook(here(lambda *_: exact.close())).remove)
            yield reached


def half_weights(module: nn.Module) -> dict[str, torch.Tensor]:
    """Return the matrices of a model in bfloat16 by name, except those of the embeddings and of the head.

    Raises
    ------
    CapabilityError
        If weights are offloaded.
    """
    offloaded = next((name for name, weight in module.named_parameters() if weight.is_meta), None)
    if offloaded is not None:
        raise CapabilityError(
            f"the weights {offloaded!r} are offloaded, expected all in memory for precision 'bfloat16'; load the model "
            "with dtype=torch.bfloat16, or use 'float32'"
        )
    ends = [module.get_input_embeddings(), module.get_output_embeddings()]  # type: ignore[operator]
    kept = {id(weight) for layer in ends if isinstance(layer, nn.Module) for weight in layer.parameters()}
    return {
        name: weight.detach().to(torch.bfloat16)
        for name, weight in module.named_parameters()
        if weight.ndim > 1 and weight.is_floating_point() and id(weight) not in kept
    }


def _padded(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Return rows of ids as an array `(b, w)`, with the first id of each row as padding, which is surely valid."""
    width = max(map(len, rows))
    return np.array([[*row, *[row[0]] * (width - len(row))] for row in rows], dtype=np.int64)
