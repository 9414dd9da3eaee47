"""What Library.impl asks of its arguments, and what functions ops have: of programs, and PyTorch's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rushlight.export.overloads import all_names, overloads, recorded


def checked(library: Any, op_name: Any, fn: Any, dispatch_key: str) -> str:
    """The op's name without its namespace, "sum" or "add.Tensor".

    Errors: TypeError for what cannot be called; RuntimeError for what is no op of the library's namespace,
    and for another key than the library's.
    """
    if not callable(fn):
        raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
    if hasattr(type(op_name), "redispatch"):  # an overload, of PyTorch's or of a program
        op_name = op_name.name()
    elif hasattr(type(op_name), "_qualname"):  # what torch.library made
        op_name = op_name._qualname
    elif not isinstance(op_name, str):
        raise RuntimeError(
            "impl should be passed either a name or an OpOverload object as the first argument, got "
            f"{type(op_name)}"
        )
    space, said, own = op_name.rpartition("::")
    if said and space != library.ns:
        raise RuntimeError(
            f'impl("{op_name}", ...): Explicitly provided namespace ({space}) in operator name does not '
            f"match namespace of enclosing TORCH_LIBRARY_IMPL block ({library.ns}).  Move this definition to "
            "the TORCH_LIBRARY_IMPL block corresponding to this namespace (and consider deleting the "
            "namespace from your schema string.)"
        )
    if library.dispatch_key not in ("", dispatch_key):
        raise RuntimeError(
            f'impl("{op_name}", ...): Explicitly provided dispatch key ({dispatch_key}) is inconsistent with '
            f"the dispatch key of the enclosing TORCH_LIBRARY_IMPL block ({library.dispatch_key}).  Please "
            "declare a separate TORCH_LIBRARY_IMPL block for this dispatch key and move your impl() there."
        )
    return str(own)


def there_already(name: str, key: str, space: str) -> str:
    """The words of an error: a function was given before."""
    return (
        f"This is not allowed since there's already a kernel registered from python overriding {name}'s "
        f"behavior for {key} dispatch key and {space} namespace."
    )


def has_kernel(name: str, key: Any) -> bool:
    """Whether an op ("namespace::name.overload") has a function for a dispatch key, and no other."""
    from rushlight.library import _op  # it imports this file

    space, _, own = name.partition("::")
    if space == "aten":
        own, _, overload = own.partition(".")
        found = recorded(own).get(overload or "default")
        if found is None:
            raise RuntimeError(f"operator {name} does not exist")
        return bool(found.has_kernel_for_dispatch_key(key))
    return str(key).rpartition(".")[2] in _op(name)._kernels


def get_kernel(op: Any, dispatch_key: Any) -> Any:
    """What computes an op ("aten::add.Tensor", or the op) for a key: an object with call_boxed(keys, *args).

    `keys` are for functions that hand them on, and not looked at. RuntimeError where there is nothing.
    """
    from rushlight.library import _op, aten_kernels  # they import this file, or few programs need them

    name = str(op) if "::" in str(op) else str(op).replace(".", "::", 1)
    key, (own, _, overload) = str(dispatch_key).rpartition(".")[2], name.removeprefix("aten::").partition(".")
    found: Any = None
    if "::" in own:
        found = _op(name)._kernels.get(key)
    elif (overload or "default") in overloads(own):
        found = aten_kernels.current(name.removeprefix("aten::"), key)
    if found is None:
        raise RuntimeError(f"operator {op} does not exist, or has nothing for the key {key}")
    return SimpleNamespace(call_boxed=lambda keys, *args, **kwargs: found(*args, **kwargs))


def registrations(dispatch_key: str = "") -> list[str]:
    """The ops ("aten::add.Tensor", a program's own by their names) that have a function for a dispatch key;
    without one, all.
    """
    from rushlight.library import _OPS  # it imports this file

    found = [
        f"aten::{name}.{overload}".removesuffix(".default")
        for name in all_names()
        for overload, op in recorded(name).items()
        if not dispatch_key or op.has_kernel_for_dispatch_key(dispatch_key)
    ]
    own = [
        f"{name}.{overload}".removesuffix(".default")
        for name, of in _OPS.items()
        for overload, op in of.items()
        if not dispatch_key or dispatch_key in op._kernels
    ]
    return found + own
