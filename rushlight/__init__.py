"""Rushlight: PyTorch's programming model, in Python that one person can read.

`import rushlight as torch` and write PyTorch. Names come from four places: the op table (generated
at first use), the tensor's own modules, and the sub-packages with PyTorch's names, loaded when they
are first mentioned, so that start-up stays short.
"""
from __future__ import annotations

from importlib import import_module
from math import e, inf, nan, pi
from typing import Any

from rushlight.base import dtype as _dtypes
from rushlight.base.device import device
from rushlight.base.dtype import (dtype, get_default_dtype, set_default_dtype)
from rushlight.base.promotion import promote_types
from rushlight.base.size import Size
from rushlight.ops import load as _load_ops

_load_ops()

from rushlight.dispatch import door as _door  # noqa: E402 - the table must be complete
from rushlight.autograd.mode import (  # noqa: E402
    enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
    set_grad_enabled)
from rushlight.tensor.geometry import (  # noqa: E402
    MemoryFormat as memory_format, StorageLayout as layout, channels_last, channels_last_3d,
    contiguous_format, preserve_format, sparse_coo, sparse_csr, strided)
from rushlight.tensor.tensor import Tensor  # noqa: E402

__version__ = "2.13.0+rushlight"

for _d in _dtypes.ALL:
    globals()[_d.name] = _d
globals().update(_dtypes.ALIASES)

newaxis = None

# Sub-packages, imported at first mention.
_PACKAGES = frozenset((
    "amp", "autograd", "backends", "cuda", "fft", "linalg", "nn", "optim", "random", "return_types",
    "serialization", "signal", "special", "storage", "utils", "version",
))
# What PyTorch has beside these, and what to use meanwhile.
_ABSENT = {
    "compile": "call the model as it is", "compiler": "call the model as it is",
    "distributed": "train in one process", "export": "save the state_dict", "onnx": "save the state_dict",
    "fx": "forward hooks", "jit": "the model's Python code", "hub": "the model's own repository",
    "func": "torch.autograd.grad", "vmap": "batched ops", "profiler": "cProfile",
    "testing": "numpy.testing.assert_allclose",
}

# Public functions that are not ops: name -> module.
_HOMES = {
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
    "result_type": "tensor.queries", "can_cast": "tensor.queries", "typename": "tensor.queries",
    "set_default_tensor_type": "tensor.queries", "set_default_device": "tensor.queries",
    "get_default_device": "tensor.queries", "broadcast_shapes": "tensor.queries",
    "get_num_threads": "tensor.threads", "set_num_threads": "tensor.threads",
    "get_num_interop_threads": "tensor.threads", "set_num_interop_threads": "tensor.threads",
    "use_deterministic_algorithms": "tensor.threads",
    "are_deterministic_algorithms_enabled": "tensor.threads",
    "set_float32_matmul_precision": "tensor.threads",
    "get_float32_matmul_precision": "tensor.threads",
    "get_deterministic_debug_mode": "tensor.threads", "set_deterministic_debug_mode": "tensor.threads",
    "is_deterministic_algorithms_warn_only_enabled": "tensor.threads",
    "UntypedStorage": "tensor.untyped", "TypedStorage": "tensor.typed", "FloatTensor": "tensor.legacy",
    "autocast": "amp", "get_autocast_dtype": "amp", "is_autocast_enabled": "amp",
}


def __getattr__(name: str) -> Any:
    found = _door.lookup("torch", name)
    if found is None:
        found = _elsewhere(name)
    globals()[name] = found
    return found


def _elsewhere(name: str) -> Any:
    if name in _HOMES:
        return getattr(_module(_HOMES[name], name), name)
    if name in _PACKAGES:
        return _module(name, name)
    if name.endswith("Tensor") or name.endswith("Storage"):
        home = "typed" if name.endswith("Storage") else "legacy"
        legacy = import_module(f"rushlight.tensor.{home}")
        if hasattr(legacy, name):
            return getattr(legacy, name)
    if name in _ABSENT:
        raise AttributeError(f"module 'torch' has no attribute {name!r} in Rushlight yet; instead: "
                             f"{_ABSENT[name]}")
    raise AttributeError(f"module 'torch' has no attribute {name!r}")


def _module(path: str, name: str) -> Any:
    try:
        return import_module(f"rushlight.{path}")
    except ModuleNotFoundError as error:
        if error.name != f"rushlight.{path}":
            raise
        raise AttributeError(f"module 'torch' has no attribute {name!r} in Rushlight yet") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *_door.names("torch"), *_HOMES, *_PACKAGES})


def tensor(data: Any, **options: Any) -> Tensor:
    """See rushlight.tensor.data.tensor: this name is also the package of the engine's tensor room."""
    from rushlight.tensor.data import tensor as make

    globals()["tensor"] = make
    return make(data, **options)


__all__ = ["Size", "Tensor", "device", "dtype", "enable_grad", "get_default_dtype", "inference_mode",
           "no_grad", "promote_types", "set_default_dtype", "set_grad_enabled"]
