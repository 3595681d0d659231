"""Run a torch module with a replaced output of its embedding layer, for plain modules and Hugging Face models alike."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from mase.arrays import Floats, Ints
from mase.errors import CapabilityError, MaseError, ModelError
from mase.models.autograd import last_operation
from mase.models.borrow import borrowed, here
from mase.models.devices import WITHOUT_CUDNN, device_of, out_of_memory
from mase.models.outputs import class_scores
from mase.models.reading import Pass, Place, Reading, Run, matrices, readings, weights_of

__all__ = ["Engine", "as_float64", "user_code"]

# Returns the shape `(b, t)` of the ids in the forward pass that is going on; None between two of them.
_Shape = Callable[[], torch.Size | None]


@dataclass(frozen=True, slots=True)
class Engine:
    """A module, the name of the layer whose output is replaced, and a function that calls the module on ids `(b, t)`.

    Where the tokens have types, the function takes them as its second argument; see `typed`.

    `readings` are the runs of the layer in one forward pass; none means one run with the tokens as they are. With
    `half` the module runs in half precision. `seed` sets torch's random state before each run, so that a module with
    random numbers gives the same scores in every process.
    """

    module: nn.Module
    embedding: str
    call: Callable[..., Any]
    readings: tuple[Reading, ...] = ()
    half: bool = False
    seed: int = 0

    @property
    def layer(self) -> nn.Module:
        """The layer whose output is perturbed."""
        return self.module.get_submodule(self.embedding)

    @property
    def device(self) -> torch.device:
        """The device of the layer and of the ids."""
        device = device_of(self.layer)
        return device if device.type != "meta" else device_of(self.module)

    @property
    def n_vectors(self) -> int | None:
        """The number of ids that have a vector; None if it is not known."""
        layer = self.layer
        if not isinstance(layer, nn.Embedding):
            inputs = getattr(self.module, "get_input_embeddings", None)  # of models of transformers
            try:
                layer = inputs() if inputs is not None else layer
            except NotImplementedError:
                return None
        return layer.num_embeddings if isinstance(layer, nn.Embedding) else None

    def check_ids(self, ids: Sequence[int] | Ints) -> None:
        """Check that ids have vectors: on a GPU one without would end the process."""
        n, largest = self.n_vectors, int(np.max(np.asarray(ids), initial=0))
        if n is not None and largest >= n:
            raise ModelError(
                f"the tokenizer gives the id {largest}, but the model has vectors for the ids 0 to {n - 1} alone, "
                "expected the tokenizer of the model; if tokens were added to it, call "
                "model.resize_token_embeddings(len(tokenizer)) and train their vectors"
            )

    def ids(self, ids: Sequence[int] | Ints, copies: int = 1) -> torch.Tensor:
        """Return ids `(copies, t)` on the device."""
        row = torch.as_tensor(np.asarray(ids, dtype=np.int64), device=self.device)
        return row.repeat(copies, 1) if row.ndim == 1 else row

    def typed(self, types: Sequence[int] | Ints | None) -> "Engine":
        """Return the engine for tokens of the types `(t,)` or `(b, t)`; None for a module that reads no types."""
        if types is None:
            return self
        call, of_tokens = self.call, self.ids(types)
        return replace(self, call=lambda ids: call(ids, of_tokens.expand(len(ids), -1)))

    def last_operation(self, ids: torch.Tensor) -> str:
        """Return the name of the operation that computes the scores, "" if unknown; see `mase.models.autograd`."""

        def tracked(output: Any) -> Any:
            # Require gradients, so that autograd records the operations of a module with frozen weights too. The clone
            # is not a leaf, because the module may write to the output in place.
            floats = isinstance(output, torch.Tensor) and output.is_floating_point()
            return output.detach().clone().requires_grad_().clone() if floats else output

        try:
            with torch.inference_mode(mode=False), borrowed(self.module, gradients=True), self._hooked(tracked):
                return last_operation(class_scores(self.call(ids.clone()), len(ids)))
        except Exception:  # noqa: BLE001 (the forward pass without gradients reports the module's errors)
            return ""

    def n_words(self, length: int) -> int | None:
        """Return the number of valid ids: the rows of the smallest `nn.Embedding` that reads ids; None without one."""
        # These ids are neither positions (0, 1, 2, ...) nor token types (all 0).
        ids = self.ids(np.indices((2, length)).sum(axis=0) % 2)
        sizes: list[int] = []

        def read(layer: nn.Embedding, args: tuple[Any, ...]) -> None:
            value = args[0] if args else None
            if not isinstance(value, torch.Tensor) or value.is_meta:
                return
            if value.shape == ids.shape and bool((value == ids).all()):
                sizes.append(layer.num_embeddings)

        embeddings = [layer for layer in self.module.modules() if isinstance(layer, nn.Embedding)]
        with ExitStack() as stack:
            for layer in embeddings:
                stack.callback(layer.register_forward_pre_hook(here(read)).remove)
            self.forward(ids.clone())
        return min(sizes, default=None)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return scores `(b, columns)` for ids `(b, t)`."""
        with self._running(), user_code("the model"):
            return self._scores(ids)

    def capture(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, "Engine"]:
        """Return the vectors `(b, t, d)` of ids `(b, t)`, the scores `(b, columns)`, and the engine with its readings.

        Here b must differ from t.

        Raises
        ------
        CapabilityError
            If the words cannot be perturbed at the layer, or the module reads them elsewhere too.
        """
        twins, others = self._other_embeddings()
        runs: list[Run] = []
        of_others: list[Run] = []
        with ExitStack() as stack:
            stack.enter_context(self._running())
            for name in (self.embedding, *twins):
                stack.callback(self._recorded(name, runs).remove)
            for name in others:
                stack.callback(self._recorded(name, of_others).remove)
            stack.enter_context(user_code("the model"))
            scores = self._scores(ids.clone())
        vectors, found = readings(self.embedding, runs, of_others, ids)
        return vectors, scores, replace(self, readings=found)

    def forward_from(self, ids: torch.Tensor, place: Place) -> torch.Tensor:
        """Return scores `(b, columns)` for ids `(b, t)` with the layer's output replaced by `place()` `(b, t, d)`."""
        with self.entered() as forward:
            return forward(ids, place)

    @contextmanager
    def entered(self) -> Iterator[Callable[[torch.Tensor, Place], torch.Tensor]]:
        """Yield `forward_from` for many batches; the module is borrowed, hooked and set to its precision only once."""
        passes: list[Pass] = []

        def forward(ids: torch.Tensor, place: Place) -> torch.Tensor:
            passes.append(Pass(self.readings, ids.shape, lambda: self._exactly(place)))
            try:
                with user_code("the model"):
                    scores = self._scores(ids)
                passes[0].check(self.embedding)
                return scores
            finally:
                passes.clear()

        def placed(output: Any) -> Any:
            return passes[0].placed(output) if passes else output  # who follows the batches may run the module

        with self._running(), self._hooked(placed, lambda: passes[0].shape if passes else None):
            yield forward

    def _exactly(self, place: Place) -> torch.Tensor:
        """Return `place()`, computed in float32 even if the module runs in half precision."""
        with torch.autocast(self.device.type, enabled=False) if self.half else nullcontext():
            return place()

    def derive(
        self,
        ids: torch.Tensor,
        coordinates: torch.Tensor,
        place: Callable[[torch.Tensor], torch.Tensor],
        respond: Callable[[torch.Tensor], torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return scores `(b, columns)` and d respond / d coordinates `(b, p)`, both at coordinates `(b, p)`.

        Raises
        ------
        CapabilityError
            If the scores have no gradient.
        """
        # cuDNN can differentiate recurrent layers in training mode only.
        recurrent = WITHOUT_CUDNN if self.device.type == "cuda" else nullcontext()
        with self._running(gradients=True), recurrent, user_code("the model"):
            leaf = coordinates.detach().requires_grad_(True)
            # The clone is not a leaf, because the module may write to it in place.
            run = Pass(self.readings, ids.shape, lambda: place(leaf).clone())
            with self._hooked(run.placed, lambda: run.shape):
                raw = self._scores(ids)
            # Quantized layers pass no gradient on, while a layer after them may have one.
            gradient = (
                torch.autograd.grad(respond(raw).sum(), leaf, allow_unused=True)[0] if raw.requires_grad else None
            )
            if gradient is None:
                raise CapabilityError(
                    "the class scores have no gradient with respect to the embeddings, expected a differentiable "
                    "model; use a method that needs no gradients"
                )
        return raw.detach(), gradient

    def _scores(self, ids: torch.Tensor) -> torch.Tensor:
        return class_scores(self.call(ids), len(ids))

    @contextmanager
    def _running(self, *, gradients: bool = False) -> Iterator[None]:
        """Borrow the module and set its precision and random state."""
        with ExitStack() as stack:
            stack.enter_context(borrowed(self.module, gradients=gradients))
            # `torch.manual_seed` would seed all devices, which takes longer than a short text.
            torch.default_generator.manual_seed(self.seed)
            if self.device.type == "cuda":
                torch.cuda.manual_seed(self.seed)
            if self.half:
                stack.enter_context(_exact_heads(self.module))
                stack.enter_context(torch.autocast(self.device.type, torch.bfloat16))
            yield

    def _other_embeddings(self) -> tuple[list[str], list[str]]:
        """Return the names of embeddings outside the layer: those with weights of the layer, and others of its size."""
        inner = [layer for layer in self.layer.modules() if isinstance(layer, nn.Embedding)]
        weights, sizes = {weights_of(layer) for layer in inner}, {layer.num_embeddings for layer in inner}
        outer = {
            name: layer
            for name, layer in self.module.named_modules()
            if isinstance(layer, nn.Embedding) and layer not in inner
        }
        twins = [name for name, layer in outer.items() if weights_of(layer) in weights]
        return twins, [name for name, layer in outer.items() if name not in twins and layer.num_embeddings in sizes]

    def _recorded(self, name: str, runs: list[Run]) -> RemovableHandle:
        """Append every run of a layer to `runs`, with copies, because the module may write to its tensors in place."""

        def record(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            copied = output.clone() if isinstance(output, torch.Tensor) else output
            runs.append(Run(name, tuple(matrices(args, kwargs)), copied))

        return self.module.get_submodule(name).register_forward_hook(here(record), with_kwargs=True)

    @contextmanager
    def _hooked(self, replace: Callable[[Any], Any], shape: _Shape | None = None) -> Iterator[None]:
        """Replace each output of the layer, and of its twins that run, by `replace(output)`.

        If `shape` is given, the layer itself runs on the first row of ids of this shape only. Its output is replaced
        anyway, and all rows are equal.
        """
        names = dict.fromkeys(reading.layer for reading in self.readings) or (self.embedding,)
        with ExitStack() as stack:
            for layer in map(self.module.get_submodule, names):
                placed = layer.register_forward_hook(here(lambda _module, _args, output: replace(output)))
                stack.callback(placed.remove)
                if shape is not None:
                    cut = layer.register_forward_pre_hook(here(_one_row(shape)), with_kwargs=True)
                    stack.callback(cut.remove)
            yield


def _one_row(shape: _Shape) -> Callable[..., Any]:
    """Return a hook that reduces inputs of the shape `shape()` `(b, t)` to their first row."""

    def first(value: Any) -> Any:
        return value[:1] if isinstance(value, torch.Tensor) and value.shape == shape() else value

    def cut(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        return tuple(map(first, args)), {name: first(value) for name, value in kwargs.items()}

    return cut


@contextmanager
def _exact_heads(module: nn.Module) -> Iterator[None]:
    """Run the last linear layer in float32, because scores with eight bits would hide differences between rows."""
    heads = [layer for layer in module.modules() if isinstance(layer, nn.Linear)][-1:]

    def exactly(
        layer: nn.Linear, args: tuple[torch.Tensor, ...], kwargs: dict[str, torch.Tensor], output: torch.Tensor
    ) -> Any:
        (inputs,) = (*args, *kwargs.values())
        dtype = layer.weight.dtype if layer.weight.is_floating_point() else inputs.dtype  # quantized weights are bytes
        with torch.autocast(output.device.type, enabled=False):
            return layer.forward(inputs.to(dtype))  # perhaps a subclass's, or one that loads its weights

    hooks = [head.register_forward_hook(here(exactly), with_kwargs=True) for head in heads]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def user_code(owner: str) -> Iterator[None]:
    """Convert errors of the user's code to ModelError, and out of memory to MemoryError, which halves the batches."""
    try:
        yield
    except (MaseError, MemoryError):
        raise
    except Exception as error:
        if out_of_memory(error):
            raise MemoryError(str(error)) from error
        raise ModelError(f"{owner} raised {type(error).__name__}: {error}") from error


def as_float64(scores: torch.Tensor) -> Floats:
    """Return scores as a float64 array on the host."""
    return np.asarray(scores.detach().to("cpu", torch.float64).numpy())
