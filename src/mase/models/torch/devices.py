"""Devices: where a module is, how to move it, and what a device supports."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import nn

from mase.errors import OptionError
from mase.models.locks import ProcessSetting

M = TypeVar("M", bound=nn.Module)


@contextmanager
def _without_cudnn() -> Iterator[None]:
    # `cudnn.flags` changes the other settings, too, and fails where conv and rnn have different precisions.
    found = torch.backends.cudnn.enabled
    torch.backends.cudnn.enabled = False
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = found


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
    device = next((found for found in devices if found is not None), None)
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
        used += [settings for kind, settings in kinds.items() if any(isinstance(one, kind) for one in module.modules())]
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
