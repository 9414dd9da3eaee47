"""Switches of torch.backends by their names in torch._C, as `_get_cublas_allow_tf32`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight
from rushlight._engine.core.determinism import Determinism

# The switch's name in torch._C: the object below torch.backends, and its attribute.
_ATTRIBUTES = {
    "cublas_allow_tf32": ("cuda.matmul", "allow_tf32"),
    "cublas_allow_fp16_reduced_precision_reduction": (
        "cuda.matmul",
        "allow_fp16_reduced_precision_reduction",
    ),
    "cublas_allow_bf16_reduced_precision_reduction": (
        "cuda.matmul",
        "allow_bf16_reduced_precision_reduction",
    ),
    "cublas_allow_fp16_accumulation": ("cuda.matmul", "allow_fp16_accumulation"),
    "cudnn_allow_tf32": ("cudnn", "allow_tf32"),
    "cudnn_benchmark": ("cudnn", "benchmark"),
    "cudnn_deterministic": ("cudnn", "deterministic"),
    "cudnn_enabled": ("cudnn", "enabled"),
    "mkldnn_deterministic": ("mkldnn", "deterministic"),
    "mkldnn_enabled": ("mkldnn", "enabled"),
}
# Functions of torch, or below it, that get and set a switch.
_FUNCTIONS = {
    "_get_cudnn_sdp_enabled": "backends.cuda.cudnn_sdp_enabled",
    "_get_deterministic_algorithms": "are_deterministic_algorithms_enabled",
    "_get_deterministic_algorithms_warn_only": "is_deterministic_algorithms_warn_only_enabled",
    "_get_flash_sdp_enabled": "backends.cuda.flash_sdp_enabled",
    "_get_float32_matmul_precision": "get_float32_matmul_precision",
    "_get_math_sdp_enabled": "backends.cuda.math_sdp_enabled",
    "_get_math_sdp_allow_fp16_bf16_reduction": "backends.cuda.fp16_bf16_reduction_math_sdp_allowed",
    "_get_mem_efficient_sdp_enabled": "backends.cuda.mem_efficient_sdp_enabled",
    "_set_deterministic_algorithms": "use_deterministic_algorithms",
    "_set_float32_matmul_precision": "set_float32_matmul_precision",
    "_set_sdp_use_cudnn": "backends.cuda.enable_cudnn_sdp",
    "_set_sdp_use_flash": "backends.cuda.enable_flash_sdp",
    "_set_sdp_use_math": "backends.cuda.enable_math_sdp",
    "_set_sdp_use_mem_efficient": "backends.cuda.enable_mem_efficient_sdp",
}


def _below(path: str) -> Any:
    found: Any = rushlight
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _attribute(path: str, name: str) -> tuple[Callable[[], Any], Callable[..., None]]:
    """What gets and sets an attribute of an object below torch.backends."""

    def get() -> Any:
        return getattr(_below(f"backends.{path}"), name)

    def change(value: Any, *more: Any) -> None:
        setattr(_below(f"backends.{path}"), name, value)

    return get, change


def _public(path: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return _below(path)(*args, **kwargs)

    return call


def _get_fill() -> bool:
    return Determinism.fill_uninitialized_memory


def _set_fill(mode: bool) -> None:
    setattr(_below("utils.deterministic"), "fill_uninitialized_memory", mode)


FUNCTIONS = {name: _public(path) for name, path in _FUNCTIONS.items()}
for _switch, _where in _ATTRIBUTES.items():
    FUNCTIONS[f"_get_{_switch}"], FUNCTIONS[f"_set_{_switch}"] = _attribute(*_where)
FUNCTIONS["_get_deterministic_fill_uninitialized_memory"] = _get_fill
FUNCTIONS["_set_deterministic_fill_uninitialized_memory"] = _set_fill
