"""torch.ao.quantization.utils: ranges of levels, and questions about schemes and modules."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight.nn.utils.parametrize import is_parametrized

_PER_TENSOR = (torch.per_tensor_affine, torch.per_tensor_symmetric)
_PER_CHANNEL = (
    torch.per_channel_affine,
    torch.per_channel_affine_float_qparams,
    torch.per_channel_symmetric,
)


def is_per_tensor(qscheme: Any) -> bool:
    """Whether a tensor has one scale."""
    return qscheme in _PER_TENSOR


def is_per_channel(qscheme: Any) -> bool:
    """Whether each place of an axis has its own scale."""
    return qscheme in _PER_CHANNEL


def to_underlying_dtype(qdtype: Any) -> Any:
    """The dtype of a quantized dtype's levels."""
    known = {
        torch.quint8: torch.uint8,
        torch.qint8: torch.int8,
        torch.qint32: torch.int32,
        torch.quint4x2: torch.uint8,
        torch.quint2x4: torch.uint8,
        **{of: of for of in (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32)},
        **{of: of for of in (torch.float8_e5m2, torch.float8_e4m3fn)},
    }
    if qdtype not in known:
        raise AssertionError(f"Unsupported dtype: {qdtype}")
    return known[qdtype]


def validate_qmin_qmax(quant_min: Any, quant_max: Any) -> None:
    """AssertionError unless the levels hold 0 and are in order."""
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if not quant_min < quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")


_RANGES = {
    torch.qint8: (-128, 127),
    torch.int8: (-128, 127),
    torch.quint8: (0, 255),
    torch.uint8: (0, 255),
    torch.qint32: (-(2**31), 2**31 - 1),
    torch.int32: (-(2**31), 2**31 - 1),
    torch.uint16: (0, 2**16 - 1),
}


def calculate_qmin_qmax(
    quant_min: Any, quant_max: Any, has_customized_qrange: bool, dtype: Any, reduce_range: bool
) -> tuple[int, int]:
    """The least and greatest level: those given, or all of a dtype; `reduce_range`: half of them."""
    if not has_customized_qrange:
        low, high = _RANGES.get(dtype, (0, 15))
        halved = reduce_range and dtype in (torch.qint8, torch.int8, torch.quint8, torch.uint8)
        return (low // 2, high // 2) if halved else (low, high)
    low, high = int(quant_min), int(quant_max)
    spread = high - low + 1
    if dtype in (torch.qint8, torch.int8):
        if not 0 < spread <= 256:
            raise AssertionError(
                "quantization range should be positive and not exceed the maximum bit range (=256)."
            )
    elif dtype in (torch.qint32, torch.int32) and not 0 < spread <= 2**32:
        raise AssertionError(
            "quantization range should be positive and not exceed the maximum bit range (=4294967296)."
        )
    return (low // 2, high // 2) if reduce_range else (low, high)


def check_min_max_valid(min_val: Any, max_val: Any) -> bool:
    """Whether something was seen, with a warning where not; AssertionError for a least above its most."""
    if not (min_val.numel() and max_val.numel()):
        _warn_unseen()
        return False
    if min_val.ndim == 0 or max_val.ndim == 0:
        if min_val == float("inf") and max_val == float("-inf"):
            _warn_unseen()
            return False
        if min_val > max_val:
            raise AssertionError(f"min {min_val} should be less than max {max_val}")
    elif bool((min_val > max_val).any()):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def _warn_unseen() -> None:
    warn("must run observer before calling calculate_qparams. Returning default values.")


def get_combined_dict(default_dict: dict[Any, Any], additional_dict: dict[Any, Any]) -> dict[Any, Any]:
    """Both, the second above the first."""
    return {**default_dict, **additional_dict}


def activation_dtype(qconfig: Any) -> Any:
    """The dtype that a configuration has for activations."""
    return qconfig.activation().dtype


def weight_dtype(qconfig: Any) -> Any:
    """The dtype that a configuration has for weights."""
    return qconfig.weight().dtype


def activation_is_statically_quantized(qconfig: Any) -> bool:
    """Whether the levels of activations are chosen beforehand."""
    known = (torch.quint8, torch.qint8, torch.qint32, torch.float16, torch.uint8, torch.int8, torch.int32)
    made = qconfig.activation()
    return made.dtype in known and not getattr(made, "is_dynamic", False)


def activation_is_dynamically_quantized(qconfig: Any) -> bool:
    """Whether the levels of activations are chosen call by call."""
    return bool(getattr(qconfig.activation(), "is_dynamic", False))


def weight_is_quantized(qconfig: Any) -> bool:
    """Whether weights are quantized, or kept in half precision."""
    known = (torch.quint8, torch.qint8, torch.float16, torch.quint4x2, torch.uint8, torch.int8)
    return weight_dtype(qconfig) in known


def has_no_children_ignoring_parametrizations(module: Any) -> bool:
    """Whether a module has no modules but those that parametrize it."""
    return not module._modules or (len(module._modules) == 1 and is_parametrized(module))


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """Scheme, dtype, scale and zero point of what an observer has seen."""
    of = observer_or_fake_quant
    qscheme = getattr(of, "qscheme", None)
    found = {"qscheme": qscheme, "dtype": of.dtype}
    if qscheme is not None:
        if isinstance(qscheme, torch.qscheme) and is_per_tensor(qscheme):
            found["qscheme"] = torch.per_tensor_affine
        elif is_per_channel(qscheme):
            if qscheme is torch.per_channel_symmetric:
                found["qscheme"] = torch.per_channel_affine
            found["axis"] = of.ch_axis
    found["scale"], found["zero_point"] = of.calculate_qparams()
    for name in ("quant_min", "quant_max"):
        if hasattr(of, name):
            found[name] = getattr(of, name)
    return found


def _is_activation_post_process(module: Any) -> bool:
    from rushlight.ao.quantization.fake_quantize import FakeQuantizeBase  # made of observers, which use this
    from rushlight.ao.quantization.observer import ObserverBase

    return isinstance(module, (ObserverBase, FakeQuantizeBase))
