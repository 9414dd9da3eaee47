"""Methods of tensors that are no rows, as the ops that PyTorch makes of them, for listeners below autograd.

While a mode is active, and for good in classes with a `__torch_dispatch__`, these names of Tensor's are
functions that tell. Nobody else pays for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import rushlight as torch
from rushlight._engine.autograd import hooks
from rushlight._engine.core.layout import suggests
from rushlight._engine.dispatch import interpreters, methods as plain_methods, overrides
from rushlight._engine.dispatch.method_overrides import unasked
from rushlight._engine.dispatch.replaced_methods import ReplacedMethods
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import LISTENING, WRAPPED, Tensor, lookup
from rushlight._torch_dispatch import backward_ops, classes, delivery, gradients
from rushlight._torch_dispatch.translation import RUN
from rushlight.export import other_forms, overloads, spellings

_REPLACED = ReplacedMethods()
_PLAIN: dict[str, Any] = {}
_WHOLE: dict[int, tuple[Any, bool]] = {}


def ask(
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    once: Callable[[], Any],
    written: Callable[[Tensor], Any] | None = None,
) -> Any:
    """The op of a dotted name by whoever listens; once(): the plain method; written: as in delivery.tell."""
    return _asked(overloads.anyone(name), args, kwargs, once, written)


def lifted(t: Any) -> Any:
    """A new tensor of Python's data, as the innermost mode has it: a leaf."""
    found = _raised(t)
    modes = interpreters.STACK.modes
    if modes and getattr(modes[-1], "tells_leaves", False):  # for others it is one anyway
        ask("detach_.default", (found,), {}, lambda: found)
    return found


def _raised(t: Any) -> Any:
    modes = interpreters.STACK.modes
    if not modes or not hasattr(modes[-1], "__torch_dispatch__"):
        return t
    return ask("lift_fresh.default", (t,), {}, lambda: t)


def _number(value: Any, dtype: Any = None) -> Any:
    """A tensor of a number, or of indices, that is part of an op's arguments."""
    with interpreters.unheard():
        made = torch.tensor(value, dtype=dtype)
    return _raised(made)


def told_whole(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op, told as it is, whatever it is made of here."""
    return _asked(op, args, kwargs, lambda: op.function(**op.bound(args, kwargs)), None)


def called(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op that is called by its name, by whoever listens."""
    modes, bound = interpreters.STACK.modes, op.bound(args, kwargs)
    if kwargs:
        args, kwargs = by_place(op, args, kwargs)
    if modes and hasattr(modes[-1], "op_called"):
        found = modes[-1].op_called(op, args, kwargs)
        if found is not NotImplemented:
            return found
    if not (modes or (interpreters.BELOW and interpreters.CLASSES.below)) or not _told_whole(op):
        return op.function(**bound)
    if gradients.is_opened(op, [*args, *kwargs.values()]):
        return op.function(**bound)
    return _asked(op, args, kwargs, lambda: op.function(**bound), None)


def by_place(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """An op's arguments as listeners are told of them: by place, but those that have none; defaults at the
    end are left out.
    """
    named = dict(kwargs)
    params = [p for p in op._schema.arguments if not p.kwarg_only]
    given = [*args, *(named.pop(p.name, p.whole_default) for p in params[len(args) :])]
    while given and len(given) <= len(params) and _is_default(given[-1], params[len(given) - 1]):
        given.pop()
    return tuple(given), named


def _is_default(value: Any, param: Any) -> bool:
    default = param.whole_default
    return not isinstance(value, Tensor) and type(default) is type(value) and bool(default == value)


def is_backward(op: Any) -> bool:
    """Whether an op is one of a backward pass, which is run by the gradient of another."""
    return op._schema.op_name in backward_ops.RUN


def _told_whole(op: Any) -> bool:
    found = _WHOLE.get(id(op))  # ops are hashed by their public functions, which takes long
    if found is None:
        found = _WHOLE[id(op)] = op, _is_told_whole(op)
    return found[1]


def _is_told_whole(op: Any) -> bool:
    """Whether listeners hear of an op itself: no row runs it, or a formula's, which has several overloads."""
    name = op._schema.op_name
    if op.namespace == "aten" and gradients.rule_of(op._schema) is not None:
        return True
    spelled = spellings.meaning(name) is not None
    if op.namespace != "aten" or (not spelled and other_forms.special(op._schema) is not None):
        return False
    if spelled or name in RUN:
        return not op.is_composite or name in backward_ops.RUN
    try:
        return not op._schema.writes and op.row()[0].kind == "pointwise"
    except NotImplementedError:  # a method that is no row
        return False


def _asked(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    once: Callable[[], Any],
    written: Callable[[Tensor], Any] | None,
) -> Any:
    modes = interpreters.STACK.modes
    if modes and hasattr(modes[-1], "__torch_dispatch__"):
        mode = modes.pop()
        try:
            return delivery.tell(mode.hear, op, args, kwargs, once, None, written)
        finally:
            interpreters.put_back(modes, mode)
    found = classes.concerned((args, kwargs)) if interpreters.CLASSES.below else []
    if not found:
        return once()
    return delivery.tell(classes.Classes(found), op, args, kwargs, once, None, written)


def _detach(plain: Any, self: Any) -> Any:
    return ask("detach.default", (self,), {}, lambda: plain(self))


def _contiguous(plain: Any, self: Any, memory_format: Any = torch.contiguous_format) -> Any:
    if self.is_contiguous(memory_format=memory_format):
        return self
    return self.clone(memory_format=memory_format)


def _to(plain: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    where, dtype, copy, order = plain_methods._to_arguments(args, dict(kwargs))
    given: dict[str, Any] = {}
    if dtype is not None and dtype is not self.dtype:
        given["dtype"] = dtype
    if where is not None and torch.device(where).type != self.device.type:
        given["device"] = torch.device(where)
    ordered = order is not None and order is not torch.preserve_format
    lies = not ordered or suggests(self, order)
    if not given and lies and not (copy or kwargs.get("copy")):
        return self
    if ordered:
        given["memory_format"] = order
    return ask("_to_copy.default", (self,), given, lambda: plain(self, *args, **kwargs))


def _cast(dtype: Any) -> Callable[..., Any]:
    def run(plain: Any, self: Any, memory_format: Any = None) -> Any:
        return self.to(dtype)

    return run


def _cpu(plain: Any, self: Any, memory_format: Any = None) -> Any:
    return self.to("cpu")


def _cuda(plain: Any, self: Any, device: Any = None, non_blocking: bool = False, **_: Any) -> Any:
    if device is None:
        device = "cuda"
    return self.to(torch.device("cuda", device) if isinstance(device, int) else device)


def _copy_(plain: Any, self: Any, src: Any, non_blocking: bool = False) -> Any:
    given: dict[str, Any] = {"non_blocking": True} if non_blocking else {}
    ask(
        "copy_.default",
        (self, src),
        given,
        lambda: plain(self, src, **given),
        lambda old: ROWS["_overwritten"](old, src),
    )
    return self


def _fill_(plain: Any, self: Any, value: Any) -> Any:
    ask(
        "fill_.Tensor" if isinstance(value, Tensor) else "fill_.Scalar",
        (self, value),
        {},
        lambda: plain(self, value),
        lambda old: _filled(old, value),
    )
    return self


def _zero_(plain: Any, self: Any) -> Any:
    ask("zero_.default", (self,), {}, lambda: plain(self), lambda old: _filled(old, 0))
    return self


def _resize_(plain: Any, self: Any, *size: Any, memory_format: Any = None) -> Any:
    sizes = list(size[0]) if len(size) == 1 and not isinstance(size[0], int) else list(size)
    given = {} if memory_format is None else {"memory_format": memory_format}
    ask("resize_.default", (self, sizes), given, lambda: plain(self, sizes, **given))
    return self


def _view(plain: Any, self: Any, *given: Any, dtype: Any = None, **named: Any) -> Any:
    wanted = given[0] if len(given) == 1 and isinstance(given[0], torch.dtype) else dtype
    if wanted is None:
        return plain(self, *given, **named)
    found = ask("view.dtype", (self, wanted), {}, lambda: plain(self, wanted))
    return found.detach()  # it has no gradient


def _record_stream(plain: Any, self: Any, s: Any) -> None:
    ask("record_stream.default", (self, s), {}, lambda: plain(self, s))


def _set_(
    plain: Any,
    self: Any,
    source: Any = None,
    storage_offset: Any = None,
    size: Any = None,
    stride: Any = None,
) -> Any:
    """Another memory in place: the class hears of it as of other writes, and no gradient knows of it."""
    name = "set_" if source is None else "set_.source_Tensor" if isinstance(source, Tensor) else _OF_STORAGE
    given = [self] if source is None else [self, source]
    if size is not None:
        given += [storage_offset or 0, size] + ([] if stride is None else [stride])
        name += "_storage_offset"
    ask(name if "." in name else "set_.default", tuple(given), {}, lambda: plain(*given))
    return self


_OF_STORAGE = "set_.source_Storage"


def _filled(old: Tensor, value: Any) -> Any:
    """`old` overwritten with one number, or with a tensor of one."""
    return ROWS["_overwritten"](
        old, value if isinstance(value, Tensor) else torch.tensor(value, dtype=old.dtype)
    )


def _item(plain: Any, self: Any) -> Any:
    return ask("_local_scalar_dense.default", (self,), {}, lambda: plain(self))


def _getitem(plain: Any, self: Any, index: Any) -> Any:
    """Brackets, as the views and the op of advanced indexing that they are."""
    found, advanced = _views(self, index)
    if advanced is None:
        return found
    return ask("index.Tensor", (found, advanced), {}, lambda: plain(found, _rest(advanced)))


def _rest(advanced: list[Any]) -> tuple[Any, ...]:
    return tuple(slice(None) if a is None else a for a in advanced)


def _views(t: Any, index: Any) -> tuple[Any, list[Any] | None]:
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_number(i) if isinstance(i, list) else i for i in items]
    taken = sum(
        i.dim() if isinstance(i, Tensor) and i.dtype is torch.bool else 1
        for i in items
        if i is not None and i is not ... and not isinstance(i, bool)
    )
    if ... in [i for i in items if not isinstance(i, Tensor)]:
        at = next(n for n, i in enumerate(items) if i is ...)
        items[at : at + 1] = [slice(None)] * (t.dim() - taken)
    found, dim, advanced = t, 0, list[Any]()
    for item in items:
        if item is None or isinstance(item, bool):
            found = ROWS["unsqueeze"](found, dim)
        elif isinstance(item, slice):
            if item != slice(None):
                found = ROWS["slice"](
                    found,
                    dim,
                    item.start or 0,
                    sys.maxsize if item.stop is None else item.stop,
                    item.step or 1,
                )
        elif isinstance(item, Tensor) and (item.dim() or item.dtype is torch.bool):
            advanced += [None] * (dim - len(advanced)) + [item]
            dim += item.dim() - 1 if item.dtype is torch.bool else 0
        else:
            found = ROWS["select"](found, dim, int(item))
            continue
        dim += 1
    return found, advanced or None


def _setitem(plain: Any, self: Any, index: Any, value: Any) -> None:
    value = value if isinstance(value, Tensor) else _number(value, self.dtype)
    found, advanced = _views(self, index)
    if advanced is not None:
        ask(
            "index_put_.default",
            (found, advanced, value),
            {},
            lambda: plain(found, _rest(advanced), value),
            lambda old: torch.index_put(old, advanced, value),
        )
    elif value.dim() == 0 and found.dim():
        found.fill_(value)
    else:
        found.copy_(value)


_TOLD: dict[str, Callable[..., Any]] = {
    "detach": _detach,
    "contiguous": _contiguous,
    "to": _to,
    "copy_": _copy_,
    "fill_": _fill_,
    "zero_": _zero_,
    "resize_": _resize_,
    "set_": _set_,
    "record_stream": _record_stream,
    "view": _view,
    "item": _item,
    "__getitem__": _getitem,
    "__setitem__": _setitem,
    "cpu": _cpu,
    "cuda": _cuda,
    "float": _cast(torch.float32),
    "double": _cast(torch.float64),
    "half": _cast(torch.float16),
    "bfloat16": _cast(torch.bfloat16),
    "long": _cast(torch.int64),
    "int": _cast(torch.int32),
    "short": _cast(torch.int16),
    "char": _cast(torch.int8),
    "byte": _cast(torch.uint8),
    "bool": _cast(torch.bool),
}


def told(name: str, plain: Callable[..., Any], *args: Any) -> Any:
    """A method of a plain tensor that is handed an instance of a class that hears."""
    return _TOLD[name](plain, *args)


def _plain(name: str) -> Any:
    if name not in _PLAIN:
        own: Any = lookup("operator", name) if name.startswith("__") else getattr(Tensor, name)
        _PLAIN[name] = unasked(own)
    return _PLAIN[name]


def _telling(name: str) -> Callable[..., Any]:
    plain, tell = _plain(name), _TOLD[name]

    @wraps(plain)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        modes = interpreters.STACK.modes
        if (modes and hasattr(modes[-1], "__torch_dispatch__")) or (
            type(self) in interpreters.BELOW and interpreters.CLASSES.below
        ):
            return tell(plain, self, *args, **kwargs)
        return plain(self, *args, **kwargs)

    setattr(method, "tells", True)
    return method


def enter() -> None:
    """A mode begins."""
    hooks.LISTENING.append(None)
    _REPLACED.enter(_TOLD, _telling)
    WRAPPED.add(LISTENING)


def leave() -> None:
    """It ends."""
    hooks.LISTENING.pop()
    if _REPLACED.leave() and not interpreters.BELOW:
        WRAPPED.discard(LISTENING)


def adopt(cls: type) -> None:
    """A class with a `__torch_dispatch__`: what it has of Tensor's tells."""
    interpreters.BELOW.add(cls)
    WRAPPED.add(LISTENING)
    if getattr(getattr(cls, "__torch_function__", None), "__func__", None) is overrides.default:
        # What its handler answers is the result, and is not given the class.
        setattr(cls, "__torch_function__", staticmethod(overrides.disabled))
    for name in _TOLD:
        if name not in cls.__dict__ and getattr(cls, name) in (_plain(name), getattr(Tensor, name)):
            setattr(cls, name, _telling(name))
    if getattr(cls, "data", None) is Tensor.data:
        detach, write = getattr(cls, "detach"), getattr(Tensor.data, "fset")
        setattr(cls, "data", property(detach, write))
