"""compile()'s `options`: their names, those of torch._inductor.config, and the types of their values."""

from __future__ import annotations

from functools import cache
from typing import Any

from rushlight._engine.names import placeholders
from rushlight.export import settings

OWN = ("guard_filter_fn", "memory_budget")
_CONFIG = "_inductor.config"
# What PyTorch's modes set.
_TUNED = {"max_autotune": True, "coordinate_descent_tuning": True}
_LITE = {
    "fallback_by_default": True,
    "selective_decompose": True,
    "reorder_for_peak_memory": False,
    "reorder_for_compute_comm_overlap": False,
    "triton.reorder_for_reducing_graph_partitions": False,
    "use_pre_grad_passes": False,
    "use_joint_graph_passes": False,
    "use_post_grad_passes": False,
    "use_dce": False,
    "allow_buffer_reuse": False,
}
_MODES: dict[str, dict[str, bool]] = {
    "default": {},
    "lite": _LITE,
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": _TUNED,
    "max-autotune": {**_TUNED, "triton.cudagraphs": True},
}


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """Which options a mode sets in PyTorch; of all modes, by name, without one. RuntimeError for no mode.

    dynamic changes nothing.
    """
    if mode is None:
        return {name: dict(options) for name, options in _MODES.items()}
    if mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    return dict(_MODES[mode])


def list_options() -> list[str]:
    """The names of compile()'s options."""
    return list(known())


# Those of our own settings, by name: the defaults.
_OURS = {
    **{name: value for name, value in vars(settings).items() if isinstance(value, bool)},
    **{f"triton.{name}": value for name, value in vars(settings.triton).items() if isinstance(value, bool)},
}


@cache
def known() -> tuple[str, ...]:
    """The names of PyTorch's options, those of a part with a dot ("triton.cudagraphs")."""
    found = set(_OURS)
    found |= {name for name in placeholders.names(_CONFIG) if name[0].islower()}
    for part in placeholders.modules(_CONFIG):
        found |= {f"{part}.{name}" for name in placeholders.names(f"{_CONFIG}.{part}")}
    return tuple(sorted(found))


def check(options: dict[str, Any]) -> None:
    """RuntimeError for a name that is no option, and for a value of another type than the default's."""
    for given, value in options.items():
        name = given.replace("-", "_")
        if name in OWN:
            continue
        if name not in known():
            raise RuntimeError(f"Unexpected optimization option {given}, known options are {list(known())}")
        default = _default(name)
        if default is not None and type(value) is not type(default):
            got, wanted = type(value).__name__, type(default).__name__
            raise RuntimeError(f"Unexpected type of attr {given}, got {got} should be {wanted}")


def _default(name: str) -> Any:
    """An option's default; None where it is not known."""
    if name in _OURS:
        return _OURS[name]
    part, _, last = name.rpartition(".")
    mark = placeholders.names(f"{_CONFIG}.{part}".rstrip("."))[last]
    return placeholders.find(f"{_CONFIG}.{name}") if mark.startswith("=") else None
