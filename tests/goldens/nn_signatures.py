"""The signatures of torch.nn's modules, as one can compare and record them."""

from __future__ import annotations

import inspect
from typing import Any


def module_names(nn: Any) -> list[str]:
    """The module classes of torch.nn, but for those that only hold others."""
    return sorted(
        name
        for name in dir(nn)
        if inspect.isclass(getattr(nn, name))
        and issubclass(getattr(nn, name), nn.Module)
        and name not in ("DataParallel", "Module", "Container")
    )


def parameters(function: Any) -> list[list[Any]]:
    """Name, kind and default ("..." where that is a class or a function) of each parameter."""
    return [
        [
            p.name,
            p.kind.name,
            p.default if isinstance(p.default, (int, float, str, type(None))) else "...",
        ]
        for p in inspect.signature(function).parameters.values()
    ]


def signatures(nn: Any, name: str) -> dict[str, Any]:
    """__init__'s and forward's, where the class or a base of it has them; and what says that one is missing."""
    cls = getattr(nn, name)
    found: dict[str, Any] = {}
    if cls.__init__ is not nn.Module.__init__:
        found["init"] = parameters(cls.__init__)
    if cls.forward is not nn.Module.forward:
        found["forward"] = [p[0] for p in parameters(cls.forward)]
    return found
