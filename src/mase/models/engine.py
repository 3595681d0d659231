"""Entering a torch module at its embedding layer: the machinery that plain modules and Hugging Face models share."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from mase.arrays import Floats, Ints
from mase.errors import CapabilityError, MaseError, ModelError
from mase.models.borrow import borrowed
from mase.models.devices import device_of, out_of_memory
from mase.models.entry import check_entry
from mase.models.outputs import class_scores

__all__ = ["Engine", "Place", "as_float64", "find_embedding"]

# What is to stand for the output `(b, t, d)` of the layer, made when the layer is reached.
Place = Callable[[], torch.Tensor]
# Operations, as autograd names them, that give scores another shape and leave their values.
_SHAPING = (
    "View", "UnsafeView", "Squeeze", "Unsqueeze", "Select", "Slice", "Reshape", "ToCopy", "Alias", "Permute", "Transpose",
)  # fmt: skip


def find_embedding(module: nn.Module, name: str | None) -> str:
    """Return the dotted name of the layer to enter: `name` itself, or that of the only `nn.Embedding`.

    Raises
    ------
    CapabilityError
        If there is no such layer, or several and no name.
    """
    layers = dict(module.named_modules())
    if name is not None:
        if name not in layers:
            raise CapabilityError(
                f"the module has no layer {name!r}, expected one of: {', '.join(n for n in layers if n)}"
            )
        return name
    found = [n for n, layer in layers.items() if isinstance(layer, nn.Embedding)]
    if len(found) != 1:
        listed = ", ".join(found) if found else "none"
        raise CapabilityError(
            f"the module has {len(found)} embedding layers ({listed}), expected one; pass embedding='name.of.layer'"
        )
    return str(found[0])


@dataclass(frozen=True, slots=True)
class Engine:
    """A module, the layer to enter it at, how to call it on ids `(b, t)`, whether in half precision, and with which seed."""

    module: nn.Module
    embedding: str
    call: Callable[[torch.Tensor], Any]
    half: bool = False
    seed: int | None = None

    @property
    def layer(self) -> nn.Module:
        """The layer whose output is perturbed."""
        return self.module.get_submodule(self.embedding)

    @property
    def device(self) -> torch.device:
        """Where the layer, and so the ids, live."""
        own = device_of(self.layer)
        return own if own.type != "meta" else device_of(self.module)

    def ids(self, ids: Sequence[int] | Ints, copies: int = 1) -> torch.Tensor:
        """Return ids `(copies, t)` on the device."""
        row = torch.as_tensor(np.asarray(ids, dtype=np.int64), device=self.device)
        return row.repeat(copies, 1) if row.ndim == 1 else row

    def last_operation(self, ids: torch.Tensor) -> str:
        """Return the name of the operation that makes the scores, as autograd knows it; empty if it does not.

        What only gives them another shape is looked through.
        """

        def followed(
            output: Any,
        ) -> Any:  # so that frozen weights have a history too; no leaf, which cannot be written to
            floats = isinstance(output, torch.Tensor) and output.is_floating_point()
            return output.detach().clone().requires_grad_().clone() if floats else output

        try:
            with torch.inference_mode(mode=False), borrowed(self.module, gradients=True), self._hooked(followed):
                made = class_scores(self.call(ids.clone()), len(ids)).grad_fn
        except Exception:  # noqa: BLE001 (what is wrong with the module itself, its forward pass without gradients will tell)
            return ""
        while made is not None and made.name().startswith(_SHAPING) and made.next_functions[0][0] is not None:
            made = made.next_functions[0][0]
        return "" if made is None else made.name()

    def n_words(self, length: int) -> int | None:
        """Return how many ids there are: the rows of the smallest `nn.Embedding` that reads them; None if there is none."""
        ids = self.ids(np.indices((2, length)).sum(axis=0) % 2)  # no row of positions or of types
        found: list[int] = []

        def read(layer: nn.Embedding, args: tuple[Any, ...]) -> None:
            if (
                args
                and isinstance(args[0], torch.Tensor)
                and args[0].shape == ids.shape
                and bool((args[0] == ids).all())
            ):
                found.append(layer.num_embeddings)

        tables = [layer for layer in self.module.modules() if isinstance(layer, nn.Embedding)]
        with ExitStack() as stack:
            for layer in tables:
                stack.callback(layer.register_forward_pre_hook(read).remove)
            self.forward(ids.clone())
        return min(found, default=None)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return scores `(b, columns)` for ids `(b, t)`."""
        with self._running(), _user_code("the model"):
            return self._scores(ids)

    def capture(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the layer's output `(b, t, d)` and the scores `(b, columns)` for ids `(b, t)`, b other than t.

        Raises
        ------
        CapabilityError
            If the layer's output is not one `(b, t, d)` tensor per forward pass.
        """
        seen: list[Any] = []
        others: list[str] = []

        def see(output: Any) -> None:  # a copy: the module may write to what its layer returned
            seen.append(output.clone() if isinstance(output, torch.Tensor) else output)

        with self._running(), self._hooked(see), self._watching(others), _user_code("the model"):
            scores = self._scores(ids.clone())
        return check_entry(self.embedding, seen, others, (len(ids), ids.shape[1])), scores

    def forward_from(self, ids: torch.Tensor, place: Place) -> torch.Tensor:
        """Return scores `(b, columns)` when the layer's output for ids `(b, t)` is `place()` `(b, t, d)` instead."""
        with self.entered() as forward:
            return forward(ids, place)

    @contextmanager
    def entered(self) -> Iterator[Callable[[torch.Tensor, Place], torch.Tensor]]:
        """Give `forward_from`, for many batches: the module is borrowed, hooked and, in half precision, converted once."""
        batch: list[tuple[torch.Size, Place]] = []
        placed: list[bool] = []

        def forward(ids: torch.Tensor, place: Place) -> torch.Tensor:
            batch.append((ids.shape, place))
            try:
                with _user_code("the model"):
                    scores = self._scores(ids)
                if len(placed) != 1:
                    raise CapabilityError(
                        f"layer {self.embedding!r} ran {len(placed)} times in a forward pass, expected once as for the text "
                        "itself; a compiled module does not see what is put in a layer's place, pass the one before compilation"
                    )
                return scores
            finally:
                batch.clear()
                placed.clear()

        def put(_output: Any) -> torch.Tensor:
            placed.append(True)
            return self._exactly(batch[0][1])

        with self._running(), self._hooked(put, lambda: batch[0][0]):
            yield forward

    def _exactly(self, place: Place) -> torch.Tensor:
        """Return `place()`, in float32 also where the module runs in half precision."""
        with torch.autocast(self.device.type, enabled=False) if self.half else nullcontext():
            return place()

    def derive(
        self,
        ids: torch.Tensor,
        coordinates: torch.Tensor,
        place: Callable[[torch.Tensor], torch.Tensor],
        respond: Callable[[torch.Tensor], torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores `(b, columns)` and d respond / d coordinates `(b, p)`, both at coordinates `(b, p)`."""
        # cuDNN differentiates recurrent layers in training mode only.
        recurrent = torch.backends.cudnn.flags(enabled=False) if self.device.type == "cuda" else nullcontext()
        with self._running(gradients=True), recurrent, _user_code("the model"):
            leaf = coordinates.detach().requires_grad_(True)
            with self._hooked(lambda _: place(leaf).clone(), lambda: ids.shape):  # no leaf: the module may write to it
                raw = self._scores(ids)
            if not raw.requires_grad:
                raise CapabilityError(
                    "the class scores do not depend on the embeddings by a gradient; use a method that needs none"
                )
            (slope,) = torch.autograd.grad(respond(raw).sum(), leaf)
        return raw.detach(), slope

    def _scores(self, ids: torch.Tensor) -> torch.Tensor:
        return class_scores(self.call(ids), len(ids))

    @contextmanager
    def _running(self, *, gradients: bool = False) -> Iterator[None]:
        """Borrow the module, in its precision."""
        with ExitStack() as stack:
            stack.enter_context(borrowed(self.module, gradients=gradients))
            if self.seed is not None:
                torch.manual_seed(self.seed)
            if self.half:
                stack.enter_context(_exact_heads(self.module))
                stack.enter_context(torch.autocast(self.device.type, torch.bfloat16))
            yield

    @contextmanager
    def _watching(self, found: list[str]) -> Iterator[None]:
        """Note the names of other embeddings that run with the weights of the layer's own."""
        own = [layer for layer in self.layer.modules() if isinstance(layer, nn.Embedding)]
        weights = {layer.weight.data_ptr() for layer in own}
        twins = [
            (name, layer)
            for name, layer in self.module.named_modules()
            if isinstance(layer, nn.Embedding) and layer not in own and layer.weight.data_ptr() in weights
        ]
        with ExitStack() as stack:
            for name, layer in twins:
                stack.callback(layer.register_forward_hook(lambda *_, name=name: found.append(name)).remove)
            yield

    @contextmanager
    def _hooked(self, replace: Callable[[Any], Any], shape: Callable[[], torch.Size] | None = None) -> Iterator[None]:
        """Replace the layer's output; with the ids' `shape()` the layer itself sees one row only, since all rows are alike."""
        hooks = [self.layer.register_forward_hook(lambda _module, _args, output: replace(output))]
        if shape is not None:
            hooks.append(self.layer.register_forward_pre_hook(_one_row(shape), with_kwargs=True))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _one_row(shape: Callable[[], torch.Size]) -> Callable[..., Any]:
    """Return a hook that cuts inputs of a `shape()` `(b, t)` down to their first row."""

    def first(value: Any) -> Any:
        return value[:1] if isinstance(value, torch.Tensor) and value.shape == shape() else value

    def cut(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        return tuple(map(first, args)), {name: first(value) for name, value in kwargs.items()}

    return cut


@contextmanager
def _exact_heads(module: nn.Module) -> Iterator[None]:
    """Run the last linear layer in float32: eight bits of a class score would drown differences between rows."""
    heads = [layer for layer in module.modules() if isinstance(layer, nn.Linear)][-1:]

    def exactly(
        layer: nn.Module, args: tuple[torch.Tensor, ...], kwargs: dict[str, torch.Tensor], output: torch.Tensor
    ) -> torch.Tensor:
        assert isinstance(layer, nn.Linear)
        (inputs,) = (*args, *kwargs.values())
        with torch.autocast(output.device.type, enabled=False):
            return nn.functional.linear(inputs.to(layer.weight.dtype), layer.weight, layer.bias)

    hooks = [head.register_forward_hook(exactly, with_kwargs=True) for head in heads]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _user_code(whose: str) -> Iterator[None]:
    """Turn what the user's code raises into a ModelError, and out-of-memory into MemoryError, so that batches are halved."""
    try:
        yield
    except (MaseError, MemoryError):
        raise
    except Exception as error:
        if out_of_memory(error):
            raise MemoryError(str(error)) from error
        raise ModelError(f"{whose} raised {type(error).__name__}: {error}") from error


def as_float64(scores: torch.Tensor) -> Floats:
    """Return scores as a float64 array on the host."""
    return np.asarray(scores.detach().to("cpu", torch.float64).numpy())
