"""The callables of factories: rows that make tensors out of sizes and numbers.

A generated prologue lets sizes, numbers and a dtype through to the row's body; device, layout,
pin_memory, requires_grad, out=, interpreters and mistakes go by `general`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight._engine.core.accelerator import Interface
from rushlight._engine.core.callers import warn
from rushlight._engine.core.determinism import fill_unwritten
from rushlight._engine.core.device import CPU, META, Default, device
from rushlight._engine.core.errors import wrong_type
from rushlight._engine.core.layout import as_tuple, check_apart_from_itself
from rushlight._engine.core.recording import TAPE, off_host
from rushlight._engine.core.services import service
from rushlight._engine.core.size import Size
from rushlight._engine.dispatch import arguments, interpreters, out_arguments, overrides
from rushlight._engine.dispatch.generated_code import compile_function, forget, keep, key
from rushlight._engine.dispatch.number_operands import NUMBERS
from rushlight._engine.dispatch.runners.meta import as_meta
from rushlight._engine.ops import signature
from rushlight._engine.ops.creation.filled import Fill
from rushlight._engine.ops.table import Row
from rushlight._engine.tensors.construction.placement import refuse_placement, track
from rushlight._engine.tensors.kind import backend_of, kind
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.tensor import Tensor, wrap

# Parameters that bodies do not see, and the ones that only `general` handles.
_PLACEMENT = frozenset({"device", "layout", "pin_memory", "requires_grad"})
_GENERAL = frozenset({"layout", "pin_memory", "memory_format", "generator"})
_HERE = frozenset({None, "cpu", CPU})


def build(row: Row) -> Callable[..., Any]:
    """The callable of a factory row."""

    def direct(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is not None and not row.out:
            kwargs["out"] = out
        bound = arguments.bind(row, args, kwargs)
        if out is not None:
            return _into(row, out, bound)
        return place(row, bound)

    return _prologue(row, overrides.entrance(row, direct), direct)


def place(row: Row, given: dict[str, Any]) -> Any:
    """Make the tensor where the keywords say."""
    if getattr(given.get("layout"), "name", "strided") != "strided":
        return _sparse(row, given)
    where, pinned = _device(row, given), given.get("pin_memory", False)
    refuse_placement(where, given.get("layout"), pinned)
    if where.type == "cuda":
        return _placed(row, where, given)
    if "device" in given:
        given = {**given, "device": where}  # bodies that draw numbers draw none for meta
    with np.errstate(all="ignore"):
        found = _call(row, given)
    if where.type == "cpu":
        out = wrap(found.array() if found.__class__ is Fill else found)
        if TAPE:
            TAPE[-1].run(
                *(
                    (found.array, (), out, ())
                    if found.__class__ is Fill
                    else (_call, (row, given), out, tuple(given.values()))
                )
            )
    elif found.__class__ is Fill:
        of = dt.from_numpy_dtype(np.dtype(found.np))
        out = wrap(meta_array(found.sizes, found.np, found.strides), kind(of, META))
    else:
        out = as_meta(found)
    if pinned:
        out = out.pin_memory()
    return track(out) if given.get("requires_grad") else out


def _placed(row: Row, where: device, given: dict[str, Any]) -> Any:
    """Make the tensor on a CUDA device."""
    off_host("a tensor made on a CUDA device")
    backend = backend_of(where)
    out = wrap(backend.run_factory(row, {**given, "device": backend.where}, _call))
    return track(out) if given.get("requires_grad") else out


def _sparse(row: Row, given: dict[str, Any]) -> Any:
    """What has another layout: it holds nothing."""
    source = given.get("input")
    size = source.shape if source is not None and "size" not in given else given.get("size", ())
    dtype = given.get("dtype") or (None if source is None else source.dtype)
    where = _device(row, given)
    out = service("sparse tensor of nothing")(row.name, as_tuple(size), given["layout"], dtype, where)
    return track(out) if given.get("requires_grad") else out


def _call(row: Row, given: dict[str, Any]) -> Any:
    """An array, or a Fill."""
    unseen = {p.name for p in signature.placement_tail(row.body)}
    values = {
        name: v._array if isinstance(v, Tensor) else v for name, v in given.items() if name not in unseen
    }
    named = {p.name: values.pop(p.name) for p in row.params if p.keyword_only and p.name in values}
    found = row.body(*values.values(), **named)
    return found if found.__class__ in (np.ndarray, Fill) else found()


def _device(row: Row, given: dict[str, Any]) -> device:
    where: device | None = given.get("device")
    if where is not None:
        return where
    source = given.get("input")
    return source._kind.device if source is not None else Default.value


def _into(row: Row, out: Any, given: dict[str, Any]) -> Tensor:
    """Make the numbers in out's dtype and write them there; its shape is taken over silently."""
    if not isinstance(out, Tensor):
        raise wrong_type(row.name, "out", "Tensor", out)
    where = given.get("device")
    if where is not None and where.type != out._kind.device.type:
        raise RuntimeError(
            f"device type {where.type} does not match device type of out parameter ({out._kind.device.type})"
        )
    layout = getattr(given.get("layout"), "name", "strided")
    if layout != "strided":
        raise RuntimeError(f"layout {layout} does not match layout of out parameter (strided)")
    if "dtype" in given:
        asked = given["dtype"]
        if asked is not None and asked is not out._kind.dtype:
            raise RuntimeError(
                f"dtype {asked.legacy} does not match dtype of out parameter ({out._kind.dtype.legacy})"
            )
        given["dtype"] = out._kind.dtype
    found = place(row, {**given, "device": out._kind.device, "requires_grad": False})
    if found._geometry.shape != out._geometry.shape:
        if row.options.get("counted") and found._geometry.size == out._geometry.size:
            found = found.reshape(
                out._geometry.shape
            )  # written where out has its elements, whatever its shape
        else:
            _resize(row, out, found)
    drawn = row.name != "randperm" and any(p.name == "generator" for p in row.params)
    if drawn or row.options.get("counted"):
        check_apart_from_itself(out._geometry)  # the others write, as PyTorch's do
    if not row.options.get("unwritten"):
        out_arguments.write(row.name, out, found)
    elif not out._kind.on_meta:
        fill_unwritten(out._memory)
    return track(out) if given.get("requires_grad") else out


def _resize(row: Row, out: Tensor, found: Tensor) -> None:
    if row.name in ("arange", "range", "fftfreq", "rfftfreq") and out._geometry.size:
        warn(
            f"The number of elements in the out tensor of shape {list(out._geometry.shape)} is "
            f"{out._geometry.size} which does not match the computed number of elements "
            f"{found._geometry.size}. Note that this may occur as a result of rounding error. The out tensor "
            f"will be resized to a tensor of shape ({found._geometry.size},).",
            UserWarning,
        )
    out.resize_(found._geometry.shape)


def _prologue(row: Row, general: Callable[..., Any], direct: Callable[..., Any]) -> Callable[..., Any]:
    params = row.params
    sizes = [p for p in params if p.varargs or (p.type == "Ints" and p.default is signature.REQUIRED)]
    checks = ["extra", "DEFAULT.value is not CPU", *map(_check, params)] + ["out is not None"] * row.out
    own = [p for p in params if p.name not in _PLACEMENT | _GENERAL]
    values = ", ".join(f"{p.name}=" * p.keyword_only + p.name + "._array" * (p.type == "Tensor") for p in own)
    again = f"return general({_again(params, row.out)}"
    text = (
        f"def {row.name}({signature.source(params, out=row.out)}, **extra):\n"
        f"    if {' or '.join(checks)}:\n        {again}, **extra)\n"
        f"{''.join(_sized(p, again) for p in sizes)}"
        f"    _key = ({', '.join(p.name if p.type == 'Any' else key(p, p.name) for p in own)},)\n"
        f"    make = PLANS.get(_key)\n"
        f"    if make is None:\n"
        f"        make = learn(_key, body({values}))\n"
        f"    made = wrap(make if make.__class__ is ndarray else make())\n"
        f"    return track(made) if requires_grad else made\n"
    )
    plans: dict[Any, Any] = {}
    forget(plans)

    def learn(key: Any, found: Any) -> Any:
        found = found.array if found.__class__ is Fill else found
        return found if found.__class__ is np.ndarray else keep(plans, key, found)

    scope: dict[str, Any] = {
        "PLAIN": interpreters.PLAIN,
        "DEFAULT": Default,
        "DTYPE": dt.dtype,
        "HERE": _HERE,
        "CPU": CPU,
        "track": track,
        "general": general,
        "INT": frozenset({int}),
        "TUPLES": frozenset({tuple, list, Size}),
        "REAL": NUMBERS - {complex},
        "body": row.body,
        "wrap": wrap,
        "ndarray": np.ndarray,
        "PLANS": plans,
        "learn": learn,
        **{f"_default_{p.name}": p.default for p in params},
    }

    @cache
    def elsewhere() -> Callable[..., Any]:
        return _elsewhere(row, general, scope, sizes, own)

    def other(*args: Any, **named: Any) -> Any:
        """What is not plain on the CPU: on a device it may be."""
        way = general if Interface.platform is None else elsewhere()
        return way(*args, **named)

    scope["general"] = other
    return overrides.compile_callable(text, row, scope, direct)


def _elsewhere(
    row: Row,
    general: Callable[..., Any],
    scope: dict[str, Any],
    sizes: Sequence[signature.Param],
    own: Sequence[signature.Param],
) -> Callable[..., Any]:
    """The way of tensors on a device that has made ones like them before; `general` for others."""
    params = row.params
    checks = ["extra", "MODES", *[_check(p, away=True) for p in params if p.name != "device"]]
    checks += ["out is not None"] * row.out
    values = ", ".join(f"{p.name}=" * p.keyword_only + p.name + "._array" * (p.type == "Tensor") for p in own)
    again, learnt = (f"return general({_again(params, row.out, sized)}" for sized in (False, True))
    given = next((f"{p.name}._kind.backend" for p in params if p.type == "Tensor"), "placed(DEFAULT.value)")
    text = (
        f"def {row.name}({signature.source(params, out=row.out)}, **extra):\n"
        f"    if {' or '.join(checks)}:\n        {again}, **extra)\n"
        f"    backend = {given} if device is None else placed(device)\n"
        f"    if backend is None or TAPE:\n        {again})\n"
        f"{''.join(_sized(p, again) for p in sizes)}"
        f"    _key = (backend, {', '.join(p.name if p.type == 'Any' else key(p, p.name) for p in own)},)\n"
        f"    make = PLANS.get(_key)\n"
        f"    if make is None:\n"
        f"        learn(_key, backend, body({values}))\n        {learnt})\n"
        f"    made = wrap(make(), None)\n"
        f"    return track(made) if requires_grad else made\n"
    )
    plans: dict[Any, Any] = {}
    forget(plans)

    def learn(key: Any, backend: Any, found: Any) -> None:
        make = backend.ready_fill(found) if found.__class__ is Fill else None
        if make is not None:
            keep(plans, key, make)

    own_scope = {
        **scope,
        "general": general,
        "PLANS": plans,
        "learn": learn,
        "placed": _backend,
        "TAPE": TAPE,
        "MODES": interpreters.MODES,
    }
    return compile_function(text, row.name, own_scope, f"{row.name} on a device")


_named = cache(device)


def _backend(where: Any) -> Any:
    """The device beside the CPU that a program names; None where it names none."""
    if where.__class__ is str:
        where = _named(where) if where.startswith("cuda") else None
    if where.__class__ is device and where.type == "cuda":
        owner = Interface.platform
        return backend_of(where) if owner is None else owner.device(where.index)
    return None


def _sized(p: signature.Param, again: str) -> str:
    """Code that makes sizes, which may be spread, a tuple of ints."""
    n = p.name
    given = f"{n}[0] if len({n}) == 1 and {n}[0].__class__ in TUPLES else {n}" if p.varargs else n
    return (
        f"    _sizes = {given}\n    if not INT.issuperset(map(type, _sizes)):\n        {again})\n"
        f"    {n} = tuple(_sizes)\n"
    )


# When an argument of a schema type is not plain.
_ODD = {
    "Any": "{0}.__class__ is not int and not ({0}.__class__ is tuple and INT.issuperset(map(type, {0})))",
    "Ints": "{0}.__class__ not in TUPLES",
    "dtype": "{0}.__class__ is not DTYPE",
    "Tensor": "{0}.__class__ not in PLAIN or {0}._kind.special",
    **dict.fromkeys(("Number", "Tensor | Number"), "{0}.__class__ not in REAL"),
    **{name: "{0}.__class__ is not " + name for name in ("int", "bool", "float")},
}


def _check(p: signature.Param, away: bool = False) -> str:
    """The condition under which a parameter is not plain; away: where tensors lie on a device, too."""
    if p.name == "device":
        return "device not in HERE"
    if p.varargs:
        return f"not {p.name}"
    given = "" if p.default is signature.REQUIRED else f"{p.name} is not _default_{p.name} and "
    odd = "True" if p.name in _GENERAL else _ODD.get(p.plain_type, "True").format(p.name)
    return f"({given}({odd}{f' and {p.name}._kind.backend is None' * (away and p.type == 'Tensor')}))"


def _again(params: Sequence[signature.Param], out: bool, sized: bool = False) -> str:
    """The arguments handed on to `general`. sized: sizes that may be spread are one tuple by now."""
    spread = "" if sized else "*"
    parts = [spread * p.varargs + (f"{p.name}={p.name}" if p.keyword_only else p.name) for p in params]
    return ", ".join([*parts, *(["out=out"] if out else [])])
