"""Modules whose attributes are switches: kept as programs set them, and set for a block by `flags()`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from rushlight._engine.core.accelerator import switched

# Whether switches may only be set by `flags()`: torch.backends.disable_global_flags().
FROZEN = [False]


def refuse_frozen(module: str) -> None:
    """RuntimeError, as PyTorch words it, where switches may not be set outside of `flags()`."""
    if FROZEN[0]:
        raise RuntimeError(
            f"not allowed to set {module} flags after disable_global_flags; please use "
            "flags() context manager instead"
        )


class SwitchModule(ModuleType):
    """A module whose switches cannot be assigned to while they are frozen."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_SWITCHES", ()):
            refuse_frozen(self.__name__.replace("rushlight", "torch", 1))
            switched()
        super().__setattr__(name, value)


def switches(
    names: dict[str, Any], defaults: dict[str, Any]
) -> tuple[Callable[..., tuple[Any, ...]], Callable[..., Any]]:
    """The functions set_flags and flags of a module whose globals() are `names`.

    defaults: the switches in the order in which set_flags takes and gives them, and what one that is not
    named means in `flags()`.
    """
    order = tuple(defaults)
    sys.modules[names["__name__"]].__class__ = SwitchModule

    def set_flags(*values: Any, **given: Any) -> tuple[Any, ...]:
        """Set switches, by place or with an underscore before their names; None leaves one.

        Returns what they were before.
        """
        asked = dict(zip(order, values, strict=False)) | {k.removeprefix("_"): v for k, v in given.items()}
        unknown = [k for k in asked if k not in defaults]
        if unknown or len(values) > len(order):
            raise TypeError(
                f"set_flags() takes {', '.join(f'_{name}' for name in order)}, but got "
                f"{', '.join(unknown) or f'{len(values)} values'}"
            )
        before = tuple(names[name] for name in order)
        names.update({k: v for k, v in asked.items() if v is not None})
        switched()
        return before

    @contextmanager
    def flags(**given: Any) -> Iterator[None]:
        """Set switches within the block; those that are not named take the defaults of `flags()`."""
        unknown = given.keys() - defaults.keys()
        if unknown:
            raise TypeError(
                f"flags() got an unexpected keyword argument '{min(unknown)}'; it takes {', '.join(defaults)}"
            )
        before = set_flags(**{f"_{k}": v for k, v in {**defaults, **given}.items()})
        try:
            yield
        finally:
            names.update(zip(order, before, strict=True))
            switched()

    names["_SWITCHES"] = frozenset(defaults)
    return set_flags, flags
