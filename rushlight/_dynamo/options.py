"""compile()'s `options`: their names, those of torch._inductor.config, and the types of their values."""

from __future__ import annotations

from functools import cache
from typing import Any

from rushlight._engine.names import placeholders
from rushlight.export import settings

OWN = ("guard_filter_fn", "memory_budget")
_CONFIG = "_inductor.config"


@cache
def known() -> tuple[str, ...]:
    """The names of PyTorch's options, those of a part with a dot ("triton.cudagraphs")."""
    found = {name for name, value in vars(settings).items() if isinstance(value, bool)}
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
    if name in vars(settings):
        return vars(settings)[name]
    part, _, last = name.rpartition(".")
    mark = placeholders.names(f"{_CONFIG}.{part}".rstrip("."))[last]
    return placeholders.find(f"{_CONFIG}.{name}") if mark.startswith("=") else None
