"""torch.utils._python_dispatch: modes and classes that hear ops below autograd, as `torch.ops.aten`
overloads.

A mode stands in the dispatcher like other interpreters; ops that PyTorch makes of others are told in those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rushlight._engine.dispatch import interpreters
from rushlight._engine.tensors.tensor import Tensor, storage
from rushlight._torch_dispatch import classes, delivery, methods

__all__ = [
    "BaseTorchDispatchMode",
    "TensorWithFlatten",
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchMode(interpreters.Interpreter):
    """Subclass with `__torch_dispatch__(self, func, types, args=(), kwargs=None)`, which answers for every op
    inside of `with mode:`; what it calls itself goes to the next mode.
    """

    # Whether an op that consists of others here is told as those where gradients are recorded: a graph of
    # what the mode heard must hold all that the gradients are made of.
    _opens = False
    # named(call, run): run an op that is told as others.
    _named: Callable[[Any, Callable[[], Any]], Any] | None = None
    # above(op, args, kwargs): what it makes of an op before autograd; else NotImplemented.
    above: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        methods.enter()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        methods.leave()

    def run(self, row: Any, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What the mode makes of an op."""
        again = interpreters.within
        return delivery.hear(
            self.hear,
            lambda body, *given, **named: again(self, body, given, named),
            row,
            call,
            args,
            kwargs,
            self._opens,
            self._named,
        )

    def hear(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op with its arguments, told."""
        concerned = classes.concerned((args, kwargs)) if interpreters.CLASSES.below else []
        if concerned and getattr(concerned[0], "_before_modes", False):
            return interpreters.within(self, classes.Classes(concerned), (op, args, kwargs), {})
        hook = self.__torch_dispatch__
        if getattr(hook, "__self__", self) is type(self):
            raise RuntimeError(
                "Defining your mode's `__torch_dispatch__` as a classmethod is not supported, please make it "
                "a plain method"
            )
        found = hook(op, tuple(map(type, concerned)), args, kwargs)
        if found is not NotImplemented:
            return found
        # What a class calls comes to the mode again.
        return interpreters.within(self, classes.Classes(concerned, self), (op, args, kwargs), {})

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance; its name when modes were pushed and not entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it is one of the framework's own."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The active modes, the innermost last."""
    modes = [mode for mode in interpreters.STACK.modes if isinstance(mode, TorchDispatchMode)]
    return [mode for mode in modes if mode not in interpreters.BASE]


def _get_current_dispatch_mode() -> Any:
    """The innermost active mode, or None."""
    stack = _get_current_dispatch_mode_stack()
    return stack[-1] if stack else None


def _len_torch_dispatch_stack() -> int:
    """How many modes are active."""
    return len(_get_current_dispatch_mode_stack())


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A context without the active modes; gives them."""
    stack = _get_current_dispatch_mode_stack()
    before = list(interpreters.STACK.modes)
    for mode in stack:
        interpreters.pop(mode)
    try:
        yield stack
    finally:
        for mode in stack:
            interpreters.MODES.append(mode)
        interpreters.STACK.modes[:] = before


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """A context without the innermost mode; gives it."""
    with without(_get_current_dispatch_mode()) as mode:
        yield mode


@contextmanager
def without(mode: Any) -> Iterator[Any]:
    """A context without a mode, which it gives, and which has its place among the others again afterwards."""
    place = interpreters.STACK.modes.index(mode)
    interpreters.pop(mode)
    try:
        yield mode
    finally:
        interpreters.MODES.append(mode)
        interpreters.STACK.modes.insert(place, mode)


class TensorWithFlatten(Protocol):
    """What wrapper classes have that tracers can take apart."""

    def __tensor_flatten__(self) -> tuple[list[str], Any]: ...

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: Any, flatten_spec: Any, outer_size: Any, outer_stride: Any
    ) -> Any: ...


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether it is a tensor of a class of its own, with __tensor_flatten__ and __tensor_unflatten__."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether instances are such tensors."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(t: Any, callback: Any, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """The wrapper with callback(name, tensor) in place of each tensor in it."""
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    made = type(t).__tensor_unflatten__(inner, context, outer_size, outer_stride)
    if made.shape != tuple(outer_size):
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to "
            f"{outer_size}, but got: {made.shape}"
        )
    return made


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """`out`, as an op of this signature gives it: what it writes to is given back itself, and a view has the
    storage of what it is a view of.
    """
    params = func._schema.arguments
    given = dict(zip([p.name for p in params], args, strict=False)) | dict(kwargs or {})
    written = [p.name for p in params if "!" in p.type or (func._schema.writes and p is params[0])]
    if not func._schema.writes:
        _share(func._schema, given, out)
        return out
    values = [given[name] for name in written if name in given]
    return values[0] if len(values) == 1 else tuple(values) if values else out


def _share(schema: Any, given: dict[str, Any], out: Any) -> None:
    """Give views that have no memory of their own the storage of the argument that they are views of."""
    bases = [given[p.name] for p in schema.arguments if p.alias_info is not None and p.name in given]
    if len(bases) != 1 or not isinstance(bases[0], Tensor) or not bases[0]._kind.on_meta:
        return
    results = out if len(schema.returns) > 1 else [out]
    for told, found in zip(schema.returns, results, strict=False):
        for view in found if isinstance(found, (list, tuple)) else [found]:
            if told.alias_info is not None and isinstance(view, Tensor) and view._kind.on_meta:
                view._storage = storage(bases[0])


def _detect_infra_mode(key: Any) -> Any:
    """The active mode of a kind; none has one here."""
    return next((m for m in reversed(_get_current_dispatch_mode_stack()) if m._dispatch_key == key), None)


def autograd_would_have_decomposed(func: Any, flat_args: Any) -> bool:
    """Whether autograd hears of the ops that this one is made of."""
    return any(isinstance(a, Tensor) and a.requires_grad for a in flat_args) and func.is_composite
