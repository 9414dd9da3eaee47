"""How kernels run: the number of threads, and PyTorch's switches for reproducible results.

Results here never depend on the number of threads or on chance; what the switch of determinism does beside
being kept is in core/determinism.py.
"""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.accelerator import PRODUCTS
from rushlight._engine.core.callers import warn
from rushlight._engine.core.determinism import Determinism
from rushlight._engine.core.recording import switched
from rushlight._engine.kernels.runtime import parallel

_PRECISIONS = ("highest", "high", "medium")
_LEVELS = ("default", "warn", "error")


class _State:
    interop: int = 0


def _count(name: str, value: Any) -> int:
    if type(value) is not int:
        raise RuntimeError(f"{name} expects an int, but got {type(value).__name__}")
    if value < 1:
        raise RuntimeError(f"{name} expects a positive integer, got {value}")
    return value


def get_num_threads() -> int:
    """How many threads large kernels use."""
    return parallel.get_num_threads()


def set_num_threads(int: Any) -> None:
    """Let large kernels use so many threads; RuntimeError unless it is a positive int."""
    parallel.set_num_threads(_count("set_num_threads", int))


def get_num_interop_threads() -> int:
    """What set_num_interop_threads set; ops run one after another here."""
    return _State.interop or get_num_threads()


def set_num_interop_threads(int: Any) -> None:
    """Kept for get_num_interop_threads."""
    _State.interop = _count("set_num_interop_threads", int)


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Refuse what PyTorch refuses, or warn, and fill memory that is not written to; all results are
    reproducible without it.
    """
    if not isinstance(mode, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not "
            f"{type(mode).__name__}"
        )
    if not isinstance(warn_only, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'warn_only' must be bool, not "
            f"{type(warn_only).__name__}"
        )
    with switched("the switch of determinism", breaks=False):
        Determinism.set(0 if not mode else 1 if warn_only else 2, warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether use_deterministic_algorithms is on."""
    return Determinism.level > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The `warn_only` that use_deterministic_algorithms was called with."""
    return Determinism.warn_only


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: off, with warn_only, on."""
    return Determinism.level


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same by "default", "warn", "error" or 0, 1, 2."""
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    allowed: Any = _LEVELS if isinstance(debug_mode, str) else range(3)
    if debug_mode not in allowed:
        expected = "one of `default`, `warn`, `error`" if allowed is _LEVELS else "0, 1, or 2"
        raise RuntimeError(f"invalid value of debug_mode, expected {expected}, but got {debug_mode}")
    with switched("the switch of determinism", breaks=False):
        level = allowed.index(debug_mode)
        Determinism.set(level, level == 1)


def get_float32_matmul_precision() -> str:
    """What was set; on the CPU products of float32 are computed in float32 whatever it is."""
    return PRODUCTS.get_precision()


def set_float32_matmul_precision(precision: str) -> None:
    """ "highest", "high" or "medium": with the latter two products of float32 on a device may use TF32."""
    if precision not in _PRECISIONS:
        warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current "
            "setFloat32MatmulPrecision call has no effect.",
            UserWarning,
        )
        return
    PRODUCTS.set_precision(precision)
