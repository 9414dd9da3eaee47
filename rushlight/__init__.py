"""Rushlight: PyTorch's programming model, in Python that one person can read.

`import rushlight as torch` and write PyTorch. Nothing but this file is loaded until a name is first
mentioned: ops are generated from the table, everything else comes from the module that `_HOMES` says.
"""
from __future__ import annotations

import sys
from importlib import import_module
from math import e, inf, nan, pi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight.autograd.mode import enable_grad, inference_mode, no_grad, set_grad_enabled
    from rushlight.base.device import device
    from rushlight.base.dtype import dtype, get_default_dtype, set_default_dtype
    from rushlight.base.promotion import promote_types
    from rushlight.base.size import Size
    from rushlight.tensor.data import tensor
    from rushlight.tensor.tensor import Tensor

__version__ = "2.13.0+rushlight"
newaxis = None
torch = sys.modules[__name__]  # as PyTorch's own attribute of that name

# Sub-packages, imported at first mention.
_PACKAGES = frozenset((
    "_dynamo", "_functorch", "accelerator", "amp", "array_api", "autograd", "backends", "compiler", "cpu",
    "cuda", "fft", "func", "linalg", "masked", "mps", "nn", "ops", "optim", "profiler", "random",
    "return_types", "serialization", "signal", "sparse", "special", "storage", "testing", "utils",
    "version", "xpu",
))
# What PyTorch has beside these, and what to use meanwhile.
_ABSENT = {
    "distributed": "train in one process", "export": "save the state_dict", "onnx": "save the state_dict",
    "fx": "forward hooks", "jit": "the model's Python code", "hub": "the model's own repository",
}

# Public names that are not ops: name -> module.
_HOMES = {
    "vmap": "func.vmapping",
    "Tensor": "tensor.tensor", "Size": "base.size", "device": "base.device", "dtype": "base.dtype",
    "get_default_dtype": "base.dtype", "set_default_dtype": "base.dtype", "tensor": "tensor.data",
    "promote_types": "base.promotion", "no_grad": "autograd.mode", "enable_grad": "autograd.mode",
    "inference_mode": "autograd.mode", "set_grad_enabled": "autograd.mode",
    "is_grad_enabled": "autograd.mode", "is_inference_mode_enabled": "autograd.mode",
    "memory_format": "tensor.geometry", "layout": "tensor.geometry", "strided": "tensor.geometry",
    "sparse_coo": "tensor.geometry", "sparse_csr": "tensor.geometry",
    "sparse_coo_tensor": "sparse", "sparse_csr_tensor": "sparse",
    "channels_last": "tensor.geometry", "channels_last_3d": "tensor.geometry",
    "contiguous_format": "tensor.geometry", "preserve_format": "tensor.geometry",
    "save": "serialization", "load": "serialization",
    "manual_seed": "random", "seed": "random", "initial_seed": "random",
    "get_rng_state": "random", "set_rng_state": "random", "Generator": "tensor.generator",
    "default_generator": "random", "set_printoptions": "tensor.printing",
    "install_as_torch": "launcher", "from_numpy": "tensor.bridge",
    "from_dlpack": "tensor.bridge", "to_dlpack": "tensor.bridge", "as_tensor": "tensor.data",
    "asarray": "tensor.data", "frombuffer": "tensor.data",
    "finfo": "tensor.limits", "iinfo": "tensor.limits", "is_tensor": "tensor.queries",
    "is_storage": "tensor.queries", "numel": "tensor.queries", "is_floating_point": "tensor.queries",
    "is_complex": "tensor.queries", "is_nonzero": "tensor.queries", "is_signed": "tensor.queries",
    "is_same_size": "tensor.queries", "is_inference": "tensor.queries",
    "is_conj": "tensor.queries", "is_neg": "tensor.queries",
    "result_type": "tensor.queries", "can_cast": "tensor.queries", "typename": "tensor.queries",
    "set_default_tensor_type": "tensor.queries", "set_default_device": "tensor.queries",
    "get_default_device": "tensor.queries", "get_device_module": "tensor.queries",
    "broadcast_shapes": "tensor.queries",
    "get_num_threads": "tensor.threads", "set_num_threads": "tensor.threads",
    "get_num_interop_threads": "tensor.threads", "set_num_interop_threads": "tensor.threads",
    "use_deterministic_algorithms": "tensor.threads",
    "are_deterministic_algorithms_enabled": "tensor.threads",
    "set_float32_matmul_precision": "tensor.threads",
    "get_float32_matmul_precision": "tensor.threads",
    "get_deterministic_debug_mode": "tensor.threads", "set_deterministic_debug_mode": "tensor.threads",
    "is_deterministic_algorithms_warn_only_enabled": "tensor.threads",
    "UntypedStorage": "tensor.untyped", "TypedStorage": "tensor.typed", "FloatTensor": "tensor.legacy",
    "compile": "_dynamo.api", "explain": "_dynamo.report", "summary": "nn.summary",
    "autocast": "amp", "Checkpoint": "checkpointing",
    **dict.fromkeys((
        "is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype",
        "is_autocast_cache_enabled", "set_autocast_cache_enabled", "clear_autocast_cache",
        "autocast_increment_nesting", "autocast_decrement_nesting", "is_autocast_cpu_enabled",
        "set_autocast_cpu_enabled", "get_autocast_cpu_dtype", "set_autocast_cpu_dtype",
        "get_autocast_gpu_dtype", "set_autocast_gpu_dtype"), "amp.state"),
}


_RENAMED = {"memory_format": "MemoryFormat", "layout": "StorageLayout"}


def __getattr__(name: str) -> Any:
    found = _elsewhere(name)
    if found is None:
        found = import_module("rushlight.dispatch.door").lookup("torch", name)
    if found is None:
        raise AttributeError(_no_such(name))
    globals()[name] = found
    return found


def _elsewhere(name: str) -> Any:
    if name in _HOMES:
        return getattr(_module(_HOMES[name], name), _RENAMED.get(name, name))
    if name in _PACKAGES:
        return _module(name, name)
    if name.endswith("Tensor") or name.endswith("Storage"):
        home = "typed" if name.endswith("Storage") else "legacy"
        legacy = import_module(f"rushlight.tensor.{home}")
        if hasattr(legacy, name):
            return getattr(legacy, name)
    return import_module("rushlight.base.dtype").NAMED.get(name)


def _no_such(name: str) -> str:
    text = f"module 'torch' has no attribute {name!r}"
    return f"{text} in Rushlight yet; instead: {_ABSENT[name]}" if name in _ABSENT else text


def _module(path: str, name: str) -> Any:
    try:
        return import_module(f"rushlight.{path}")
    except ModuleNotFoundError as error:
        if error.name != f"rushlight.{path}":
            raise
        raise AttributeError(f"module 'torch' has no attribute {name!r} in Rushlight yet") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("rushlight.dispatch.door").names("torch"),
                   *import_module("rushlight.base.dtype").NAMED, *_HOMES, *_PACKAGES})


class _Package(type(sys)):  # type: ignore[misc]
    """`tensor` is PyTorch's function here, though a room of the engine has the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "tensor" or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
__all__ = ["Size", "Tensor", "device", "dtype", "enable_grad", "get_default_dtype", "inference_mode",
           "no_grad", "promote_types", "set_default_dtype", "set_grad_enabled"]
