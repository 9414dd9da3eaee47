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
    "cuda", "fft", "func", "linalg", "masked", "mps", "nn", "ops", "optim", "overrides", "profiler", "random",
    "return_types", "serialization", "signal", "sparse", "special", "storage", "testing", "utils",
    "version", "xpu",
))
# What PyTorch has beside these, and what to use meanwhile.
_ABSENT = {
    "distributed": "train in one process", "export": "save the state_dict", "onnx": "save the state_dict",
    "fx": "forward hooks", "jit": "the model's Python code", "hub": "the model's own repository",
}

# Public names that are not ops, by module.
_NAMES = {
    "func.vmapping": "vmap", "tensor.tensor": "Tensor", "base.size": "Size", "base.device": "device",
    "base.promotion": "promote_types", "sparse": "sparse_coo_tensor sparse_csr_tensor",
    "serialization": "save load", "tensor.generator": "Generator", "tensor.printing": "set_printoptions",
    "launcher": "install_as_torch", "tensor.limits": "finfo iinfo", "tensor.untyped": "UntypedStorage",
    "tensor.typed": "TypedStorage", "tensor.legacy": "FloatTensor", "_dynamo.api": "compile",
    "_dynamo.report": "explain", "nn.summary": "summary", "amp": "autocast", "checkpointing": "Checkpoint",
    "base.dtype": "dtype get_default_dtype set_default_dtype",
    "tensor.data": "tensor as_tensor asarray frombuffer",
    "autograd.mode": """no_grad enable_grad inference_mode set_grad_enabled is_grad_enabled
        is_inference_mode_enabled""",
    "tensor.geometry": """memory_format layout strided sparse_coo sparse_csr channels_last
        channels_last_3d contiguous_format preserve_format""",
    "base.absent": "OutOfMemoryError AcceleratorError",
    "random": "manual_seed seed initial_seed get_rng_state set_rng_state default_generator",
    "tensor.bridge": "from_numpy from_dlpack to_dlpack",
    "tensor.queries": """is_tensor is_storage numel is_floating_point is_complex is_nonzero is_signed
        is_same_size is_inference is_conj is_neg result_type can_cast typename set_default_tensor_type
        set_default_device get_default_device get_device_module broadcast_shapes""",
    "tensor.threads": """get_num_threads set_num_threads get_num_interop_threads set_num_interop_threads
        use_deterministic_algorithms are_deterministic_algorithms_enabled set_float32_matmul_precision
        get_float32_matmul_precision get_deterministic_debug_mode set_deterministic_debug_mode
        is_deterministic_algorithms_warn_only_enabled""",
    "amp.state": """is_autocast_enabled set_autocast_enabled get_autocast_dtype set_autocast_dtype
        is_autocast_cache_enabled set_autocast_cache_enabled clear_autocast_cache
        autocast_increment_nesting autocast_decrement_nesting is_autocast_cpu_enabled
        set_autocast_cpu_enabled get_autocast_cpu_dtype set_autocast_cpu_dtype get_autocast_gpu_dtype
        set_autocast_gpu_dtype""",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
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
