"""Anomaly mode: says which forward op made the gradient that failed or is nan."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import numpy as np

from rushlight._engine.autograd import engine, hooks
from rushlight._engine.autograd.node import TRACES, Node
from rushlight._engine.core.callers import warn

# Frames that say nothing of the program: what launched it, and the way from an operator to its kernel.
_PLACES = ("launcher.py", "__main__.py", "_engine/dispatch", "_engine/tensors")
_HIDDEN = ("<rushlight", "<frozen runpy>", *(str(Path(__file__).parents[2] / place) for place in _PLACES))


class _State:
    enabled = False
    check_nan = True


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return _State.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for nan."""
    return _State.check_nan


def _remember(node: Node) -> None:
    stack = traceback.extract_stack()[:-2]
    node.trace = traceback.format_list([frame for frame in stack if not frame.filename.startswith(_HIDDEN)])


def _guarded(node: Node, grad: Any) -> Any:
    try:
        results = engine.apply(node, grad)
    except Exception:
        _tell(node)
        raise
    if _State.check_nan:
        for number, g in enumerate(results):
            if g is not None and g._geometry.dtype.kind in "fc" and np.isnan(g._array).any():
                _tell(node)
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {number}th output.")
    return results


def _tell(node: Node) -> None:
    trace = getattr(node, "trace", None)
    why = (
        "No forward pass information available. Enable detect anomaly during forward pass for more "
        "information."
        if trace is None
        else f"Traceback of forward call that caused the error:\n{''.join(trace)}"
    )
    warn(f"Error detected in {node.name()}. {why}")


class set_detect_anomaly:
    """Turn anomaly mode on or off; as a context manager, put it back at the end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (_State.enabled, _State.check_nan)
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: Any) -> None:
        set_anomaly_enabled(*self._before)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside a with block."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and "
            "should only be enabled for debugging."
        )

    def __enter__(self) -> None:
        self._before = (_State.enabled, _State.check_nan)
        set_anomaly_enabled(True, self.check_nan)


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off."""
    if bool(mode) != bool(_State.enabled):
        (TRACES.add if mode else TRACES.remove)(_remember)
    _State.enabled, _State.check_nan = mode, check_nan
    hooks.guard_nodes(_guarded if mode else None)
