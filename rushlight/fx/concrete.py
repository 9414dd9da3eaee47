"""What a program is traced with: values of arguments, places for inputs in them, and classes whose objects
are nodes.
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import tree_map
from rushlight.fx.proxy import BASE, _seen

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta"]


class PHBase:
    """A place for an input in `concrete_args`; its attributes become those of the input's node."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A place with a name of the program's own."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


def _assert_is_none(value: Any, msg: str) -> None:
    """AssertionError if it is something."""
    if value is not None:
        raise AssertionError(msg)


def concrete_values(tracer: Any, name: str, given: Any, default: tuple[Any, ...]) -> Any:
    """A value of concrete_args with Proxies for the places in it; an input for each of the others, too, that
    is compared with it when the graph runs.
    """
    message = f"{name} has been specialized to have value"
    count = 0

    def leaf(value: Any) -> Any:
        nonlocal count
        count += 1
        out = tracer.create_proxy("placeholder", f"{name}_{count}", default, {})
        if isinstance(value, PHBase):
            out.node.__dict__.update(vars(value))
            return out
        if value is None:
            tracer.create_proxy(
                "call_function", _assert_is_none, (out, f"{message} None but got another value"), {}
            )
        elif isinstance(value, BASE):
            torch._assert(out == value, f"{message} {value} but got another value")
        else:
            warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. "
                "It is up to the user to make sure that your inputs match the inputs you specialized the "
                "function with."
            )
        return value

    return tree_map(leaf, given)


class ProxyableClassMeta(type):
    """Metaclass of classes whose construction is a node while a program is traced, if a Proxy is among the
    arguments.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance, or, where an argument is a Proxy, one of the node that makes it."""
        from rushlight.fx.tracer import is_fx_tracing  # it imports this file

        found: list[Any] = []
        if is_fx_tracing():
            _seen(found, args)
            _seen(found, kwargs)
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)
