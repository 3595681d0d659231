"""Forward passes of a torch module whose embedding output is replaced, and which is left as it was.

A decoder reads the words one position later than its encoder, Longformer pads its input to whole windows, and XLNet
works with the time as its first axis. A *reading* says where the tokens are, so that all places of a word are perturbed
alike and the module reads the original word nowhere.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import product
from threading import get_ident
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from mase.arrays import Floats, Ints
from mase.errors import CapabilityError, MaseError, ModelError, OptionError
from mase.models.locks import ProcessSetting, alone
from mase.models.scores import class_scores, last_operation
from mase.rng import untouched

M = TypeVar("M", bound=nn.Module)


@contextmanager
def _without_cudnn() -> Iterator[None]:
    # `cudnn.flags` changes the other settings, too, and fails where conv and rnn have different precisions.
    result = torch.backends.cudnn.enabled
    torch.backends.cudnn.enabled = False
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = result


# A block in which cuDNN is off.
WITHOUT_CUDNN = ProcessSetting(_without_cudnn)


def device_of(module: nn.Module) -> torch.device:
    """Return the device of the module's first parameter or buffer; the CPU if it has none.

    Offloaded tensors wait on the device "meta", while the module runs where the others are, or where accelerate brings
    them if there are no others.
    """
    devices = [tensor.device for tensor in (*module.parameters(), *module.buffers())]
    present = (device for device in devices if device.type != "meta")
    return next(present, _where_it_runs(module) or (devices[0] if devices else torch.device("cpu")))


def _where_it_runs(module: nn.Module) -> torch.device | None:
    """Return the device to which accelerate brings offloaded tensors when a layer runs; None if it brings none."""
    hooks = (getattr(layer, "_hf_hook", None) for layer in module.modules())
    devices = (getattr(hook, "execution_device", None) for hook in hooks)
    device = next((result for result in devices if result is not None), None)
    return None if device is None else torch.device(device)


def gpu_name(device: str) -> str | None:
    """Return the name of a GPU, such as "NVIDIA H200"; None for any other device."""
    return torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else None


def multiplies_bfloat16(device: torch.device | str) -> bool:
    """Return whether the device has bfloat16 instructions; without them half precision is slower than float32."""
    device = torch.device(device)
    if device.type == "cpu":
        supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)  # missing in builds without oneDNN
        return supported is not None and bool(supported())
    if device.type == "cuda" and torch.version.hip is None:
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return True


def rounds(module: nn.Module, device: torch.device) -> bool:
    """Return whether a module computes on a device with fewer bits than float32 has.

    Weights may have 16 bits. Matrix products and layers of float32 may be computed in TF32 or bfloat16, which has to be
    asked for; but on a GPU, cuDNN computes recurrent and convolutional layers in TF32 unless that is switched off.
    """
    if any(weight.is_floating_point() and weight.itemsize < torch.float32.itemsize for weight in module.parameters()):
        return True
    backends: Any = torch.backends  # whose types lack what is read here
    products, layers = (backends.cuda, backends.cudnn) if device.type == "cuda" else (backends.mkldnn, backends.mkldnn)
    used = [products.matmul]
    if layers.enabled:
        kinds = {nn.RNNBase: layers.rnn, nn.modules.conv._ConvNd: layers.conv}
        used += [
            settings for kind, settings in kinds.items() if any(isinstance(item, kind) for item in module.modules())
        ]
    return any(settings.fp32_precision in ("tf32", "bf16") for settings in used)


def available(device: str) -> str:
    """Return `device` if this machine has it, else the first device of its kind, else the CPU."""
    for candidate in (device, torch.device(device).type):
        try:
            torch.empty(0, device=candidate)
        except (RuntimeError, AssertionError, NotImplementedError):
            continue
        return candidate
    return "cpu"


def moved(module: M, device: str | None) -> M:
    """Return `module` on the named device; None leaves it where it is."""
    if device is None:
        return module
    try:
        return module.to(device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise OptionError(
            f"device is {device!r}, which cannot be used here ({reason}), expected for example 'cpu'"
        ) from error


def out_of_memory(error: Exception) -> bool:
    """Return whether an exception of torch means out of memory: a type on GPUs, a message on CPUs."""
    messages = ("out of memory", "not enough memory", "can't allocate memory", "Cannot allocate memory")
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and any(message in str(error) for message in messages)
    )


# The remedy for a model without a suitable layer.
_WRAP = "wrap its probabilities: mase.models.Callable(lambda texts: ..., labels=[...])"

# Computes the replacement `(b, t, d)` for the vectors of the tokens; called when a forward pass reaches the layer.
Place = Callable[[], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a layer: its name, the matrices of integers that it was given, and its output."""

    layer: str
    ids: tuple[torch.Tensor, ...]
    output: Any


@dataclass(frozen=True, slots=True)
class Reading:
    """Where one run of a layer has the t tokens of a text: token i is at position `offset` + i of `length`.

    The other positions are the module's own, such as padding or the start token of a decoder, and are equal in all
    rows; all of them are if `offset` is `length`. A token beyond the last position is not read. With `time_first` the
    output is `(length, b, d)`.
    """

    layer: str
    length: int
    offset: int = 0
    time_first: bool = False

    def vectors(self, output: torch.Tensor, n_tokens: int) -> torch.Tensor:
        """Return the vectors `(b, at most t, d)` of the tokens in the output of this run."""
        return self._batch_first(output)[:, self.offset : self.offset + n_tokens]

    def placed(self, vectors: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """Return the output of this run with the vectors `(b, t, d)` of the tokens; one row of `output` is enough."""
        n_read = min(vectors.shape[1], self.length - self.offset)
        whole = vectors
        if n_read < self.length:
            own = self._batch_first(output)[:1].to(vectors.dtype)
            before, after = own[:, : self.offset], own[:, self.offset + n_read : self.length]
            rows = (len(vectors), -1, -1)
            whole = torch.cat([before.expand(rows), vectors[:, :n_read], after.expand(rows)], dim=1)
        return whole.transpose(0, 1).contiguous() if self.time_first else whole

    def _batch_first(self, output: torch.Tensor) -> torch.Tensor:
        return output.transpose(0, 1) if self.time_first else output


@dataclass(slots=True)
class Pass:
    """One forward pass whose layer has its output replaced in every run; `shape` `(b, t)` is that of the ids."""

    readings: tuple[Reading, ...]
    shape: torch.Size
    place: Place
    n_runs: int = 0
    vectors: list[torch.Tensor] = field(default_factory=list)

    def placed(self, output: Any) -> Any:
        """Return the replacement for the output of the next run."""
        self.n_runs += 1
        if self.n_runs > len(self.readings):
            return output  # and `check` raises
        self.vectors = self.vectors or [self.place()]
        # The module may write to what it gets.
        vectors = self.vectors[0] if len(self.readings) == 1 else self.vectors[0].clone()
        return self.readings[self.n_runs - 1].placed(vectors, output)

    def check(self, layer: str) -> None:
        """Raise CapabilityError if the layer has not run as often as for the text itself."""
        if self.n_runs != len(self.readings):
            raise CapabilityError(
                f"layer {layer!r} ran {self.n_runs} times in a forward pass, expected {len(self.readings)} as for the "
                "text itself; a compiled module ignores a replaced layer output, pass the one before compilation"
            )


def readings(
    layer: str, runs: Sequence[Run], others: Sequence[Run], ids: torch.Tensor
) -> tuple[torch.Tensor, tuple[Reading, ...]]:
    """Return the vectors `(b, t, d)` of the ids `(b, t)` in a forward pass, and the reading of each run.

    Parameters
    ----------
    layer
        Dotted name of the layer.
    runs
        All runs of the layer, and of other embeddings with its weights.
    others
        All runs of other embeddings that are as large.
    ids
        The ids of the tokens; b must differ from t.
    """
    twin = next((run.layer for run in others if _reading(run, ids) is not None), None)
    if twin is not None:
        raise CapabilityError(
            f"the words are also embedded by {twin!r}, with other weights than by {layer!r}: the module would read the "
            f"original words besides the perturbed ones, expected one table of word vectors; {_WRAP}"
        )
    if len(runs) == 1 and _is_output(runs[0].output, ids.shape):
        return runs[0].output, (Reading(runs[0].layer, ids.shape[1]),)
    result = [_reading(run, ids) or _own(run, ids) for run in runs]
    if len(runs) == 1 and result[0] is None:
        raise CapabilityError(
            f"layer {layer!r} returned {_described(runs[0].output, ids.shape)}, expected a tensor "
            f"({len(ids)}, {ids.shape[1]}, d): batch first, one vector per token; {_WRAP}"
        )
    known = [reading for reading in result if reading is not None]
    whole = next((index for index, item in enumerate(known) if item.length - item.offset >= ids.shape[1]), None)
    if whole is None or len(known) < len(runs):
        raise CapabilityError(
            f"layer {layer!r} ran {len(runs)} times in one forward pass, expected once, or each time with all tokens "
            f"in their order; name the layer that embeds the tokens (TorchModule: embedding=..., HuggingFace: "
            f"enter=...), or {_WRAP}"
        )
    vectors = known[whole].vectors(runs[whole].output, ids.shape[1])
    for run, reading in zip(runs, known, strict=True):
        read = reading.vectors(run.output, ids.shape[1])
        if read.shape[2] != vectors.shape[2] or not torch.equal(read, vectors[:, : read.shape[1]]):
            raise CapabilityError(
                f"the words are also embedded by {run.layer!r}, with the weights of {layer!r} but to other vectors: "
                "the module would read the original words besides the perturbed ones, expected one vector per word; "
                f"{_WRAP}"
            )
    return vectors, tuple(known)


def weights_of(layer: nn.Embedding) -> object:
    """Return what is the same for layers that share their weights.

    Offloaded weights are nowhere in memory: those of one shape may be the same, and `readings` compares their vectors.
    """
    return layer.weight.shape if layer.weight.is_meta else layer.weight.data_ptr()


def _reading(run: Run, ids: torch.Tensor) -> Reading | None:
    """Return how a run has read the ids `(b, t)`; None if it has not read them in any known way."""
    n_rows, n_tokens = ids.shape
    for given, time_first, offset in product(run.ids, (False, True), (0, 1)):
        seen = given.T if time_first else given
        length = seen.shape[1]
        if len(seen) != n_rows or length < n_tokens or not _is_output(run.output, given.shape):
            continue
        read = seen[:, offset : offset + n_tokens]
        own = [seen[:, :offset], seen[:, offset + n_tokens :]]
        if torch.equal(read, ids[:, : read.shape[1]]) and all(
            torch.equal(item, item[:1].expand_as(item)) for item in own
        ):
            return Reading(run.layer, length, offset, time_first)
    return None


def _own(run: Run, ids: torch.Tensor) -> Reading | None:
    """Return the reading of a run that has none of the tokens but something of the module's own, such as their types.

    It is equal in all rows.
    """
    for given in run.ids:
        equal = len(given) == len(ids) and torch.equal(given, given[:1].expand_as(given))
        if equal and _is_output(run.output, given.shape):
            return Reading(run.layer, given.shape[1], given.shape[1])
    return None


def _is_output(output: Any, shape: torch.Size) -> bool:
    return isinstance(output, torch.Tensor) and output.ndim == 3 and output.shape[:2] == shape


def matrices(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """Yield copies of the matrices of integers among the arguments of a layer."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor) and value.ndim == 2 and not value.is_floating_point():
            yield value.clone()


def _described(output: Any, shape: torch.Size) -> str:
    """Return the type or shape of an output, with the probable reason why it is wrong."""
    if not isinstance(output, torch.Tensor):
        return type(output).__name__
    if output.ndim == 3 and tuple(output.shape[:2]) == (shape[1], shape[0]):
        return f"{tuple(output.shape)} (time first)"
    shortened = output.ndim == 3 and len(output) == shape[0]
    return f"{tuple(output.shape)}{' (the module pads or shortens its input)' if shortened else ''}"


@contextmanager
def borrowed(module: nn.Module, *, gradients: bool = False) -> Iterator[None]:
    """Run `module` in eval mode; then restore every submodule's mode, clipped word vectors and the random states.

    The gradients of parameters never change, because only derivatives with respect to coordinates are computed. The
    block uses `no_grad` and not inference mode: a module that caches tensors on itself could not be trained any more
    with inference tensors. Nor does it use the half precision of `torch.autocast` around it. The module is locked for
    this thread, so that two explanations do not mix their hooks and modes.
    """
    evaluating, exact = _evaluating(module), _precision_of_the_module()
    grad = torch.set_grad_enabled
    with _alone(module), untouched(), evaluating, _unclipped(module), grad(gradients), exact, _UNCOMPILED:
        yield


@contextmanager
def _precision_of_the_module() -> Iterator[None]:
    with ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
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
        """Return the name of the operation that computes the scores, "" if unknown; see `mase.models.scores`."""

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
        vectors, result = readings(self.embedding, runs, of_others, ids)
        return vectors, scores, replace(self, readings=result)

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
        """Return scores `(b, columns)` and d respond / d coordinates `(b, p)`, both at coordinates `(b, p)`."""
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
