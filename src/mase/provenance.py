"""Provenance of results: the software and the machine that computed them."""

import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mase.platforms import processor_name, vector_instructions


@cache
def installed() -> dict[str, str]:
    """Return the versions of Python and of the packages that scores depend on."""
    return {"python": platform.python_version()} | _versions("mase-xai", "numpy", "scipy", "torch", "transformers")


def environment(model: object = None) -> dict[str, str | int]:
    """Return everything that decides the last bits of the scores and tables of a model, besides the settings.

    Two processes with the same environment give the same bits. The keys are those of `installed` and

    - `tokenizers`, `pyarrow`: versions, where installed;
    - `system`, `libc`, `processor`, `instructions` (vector instructions): the machine;
    - `blas`: the library behind NumPy and SciPy, its versions and the kind of processor that it chose; `threads`: its
      number of threads;
    - for a torch model: `device` ("cpu" or "cuda"), `torch_threads`, `torch_capability` (instructions that torch uses),
      `matmul_precision` and, on a GPU, `gpu` (its name), `cuda` and `cudnn` (versions), `cudnn_conv_precision` and
      `cudnn_rnn_precision`;
    - for a function or an estimator: the version of its package by its name, such as `sklearn`.
    """
    machine: dict[str, str | int] = {
        "system": platform.system(),
        "libc": " ".join(platform.libc_ver()).strip(),
        "processor": processor_name(),
        "instructions": vector_instructions(),
    }
    software = installed() | _versions("tokenizers", "pyarrow") | _package(getattr(model, "package", None))
    return {**software, **machine, **_blas(), **_torch(getattr(model, "device", None))}


def _versions(*packages: str) -> dict[str, str]:
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _package(name: str | None) -> dict[str, str]:
    known = getattr(sys.modules.get(name or ""), "__version__", None)
    return {} if name is None or known is None else {name: str(known)}


def _blas() -> dict[str, str | int]:
    """Return the libraries of NumPy and SciPy for linear algebra and their threads, which decide the order of sums."""
    import numpy as np
    import scipy.linalg  # noqa: F401 (SciPy may load another library than NumPy)
    from threadpoolctl import threadpool_info

    configuration: Any = np.show_config(mode="dicts")
    name = str(configuration["Build Dependencies"]["blas"]["name"])
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas" and pool["internal_api"] in name]
    kinds = {f"{pool['version']} {pool.get('architecture', '')}".strip() for pool in pools}
    return {
        "blas": " ".join([name, *sorted(kinds)]),
        "threads": max((pool["num_threads"] for pool in pools), default=1),
    }


def _torch(device: str | None) -> dict[str, str | int]:
    torch: Any = sys.modules.get("torch")
    if device is None or torch is None:
        return {}
    facts: dict[str, str | int] = {
        "device": device.partition(":")[0],
        "torch_threads": torch.get_num_threads(),
        "torch_capability": torch.backends.cpu.get_cpu_capability(),
        "matmul_precision": _matmul_precision(torch),
    }
    if facts["device"] != "cuda":
        return facts
    versions = {"cuda": str(torch.version.cuda or torch.version.hip), "cudnn": torch.backends.cudnn.version() or 0}
    # By default cuDNN runs these layers in TF32, whose answers depend on the batch.
    cudnn = torch.backends.cudnn
    precisions = {
        "cudnn_conv_precision": cudnn.conv.fp32_precision,
        "cudnn_rnn_precision": cudnn.rnn.fp32_precision,
    }
    return {**facts, "gpu": torch.cuda.get_device_name(device), **versions, **precisions}


def _matmul_precision(torch: Any) -> str:
    """Return the precision of matrix products in float32; of each backend if they were set one by one."""
    try:
        return str(torch.get_float32_matmul_precision())
    except RuntimeError:  # PyTorch has no single answer then
        cuda, cpu = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
        return f"cuda {cuda.fp32_precision}, mkldnn {cpu.fp32_precision}"
