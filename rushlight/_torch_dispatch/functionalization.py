"""Functional tensors: tensors that are written into and seen through views, while what they wrap never is.

An op on a functional tensor is said in ops without writes on the tensors inside. A view knows how to make
itself from the tensor that it is a view of, and how a new value of its own becomes one of that tensor
(view_inverses.py). A write makes a new value and is kept; before a tensor is read, the writes to its memory
that it does not know of are worked in, and it is made from there again. `torch.func.functionalize` and
tracers stand on this.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.core.device import META
from rushlight._engine.core.layout import contiguous_strides
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.dispatch import interpreters
from rushlight._engine.tensors.kind import kind
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.tensor import Tensor, storage, wrap
from rushlight._torch_dispatch import methods
from rushlight._torch_dispatch.classes import make_wrapper_subclass
from rushlight._torch_dispatch.view_inverses import INVERSES, Inverse
from rushlight.export import overloads
from rushlight.export.functional import FORMS
from rushlight.utils._python_dispatch import TorchDispatchMode, without

_FROZEN = "cannot mutate tensors with frozen storage"
_LARGER = (
    "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass"
)
_NOT_FUNCTIONAL = (
    "mutating a non-functional tensor with a functional tensor is not allowed. Please ensure that all of "
    "your inputs are wrapped inside of a functionalize() call."
)


class _Local(threading.local):
    """Whether views are taken of what functional tensors wrap, or copies; whether results are compared with
    what the op gives for plain tensors; the mode that is on.
    """

    views = compared = False
    mode: Functionalization | None = None


LOCAL = _Local()


def _below(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op on what functional tensors wrap, by whoever else listens."""
    call = methods.told_whole if op.namespace == "aten" else _custom_call
    if LOCAL.mode is None or LOCAL.mode not in interpreters.STACK.modes:
        return call(op, args, kwargs)
    with without(LOCAL.mode):
        return call(op, args, kwargs)


def _custom_call(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return op(*args, **kwargs)


class _Calls:
    """Ops by name, for inverses."""

    def __init__(self, views: bool) -> None:
        self.views = views

    def __call__(self, name: str, *args: Any) -> Any:
        op = overloads.anyone(name)
        return _below(op, *methods.by_place(op, args, {}))

    def view(self, name: str, *args: Any) -> Any:
        return self(name if self.views else _copying(name), *args)


def _copying(name: str) -> str:
    own, _, overload = name.partition(".")
    return f"{own}_copy.{overload}"


class _View(NamedTuple):
    """A step from a tensor to a view of it: forward(tensor), whose result is a list of which `part` is the
    view where it is not None; and back(tensor, value).
    """

    forward: Callable[[Any], Any]
    back: Callable[[Any, Any], Any]
    part: int | None = None

    def of(self, base: Any) -> Any:
        """The view of a tensor."""
        found = self.forward(base)
        return found if self.part is None else found[self.part]


class _Memory:
    """What functional tensors that are views of each other share: the value of the whole, and the writes that
    are not worked into it yet.
    """

    def __init__(self, base: Any) -> None:
        self.base, self.generation, self.frozen = base, 0, False
        self.writes: list[tuple[Any, tuple[_View, ...]]] = []
        self.tensors: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        # By which autograd knows that they are views of each other.
        self.storage: Any = None

    def take(self, tensor: Any) -> None:
        """A tensor lies here from now on."""
        self.tensors[id(tensor)] = tensor
        if self.storage is None:
            tensor._storage, self.storage = None, storage(tensor)
        tensor._storage = self.storage

    def write(self, value: Any, views: tuple[_View, ...]) -> None:
        """Keep a write: of a view, by the steps to it."""
        if self.frozen:
            raise RuntimeError(_FROZEN)
        self.writes.append((value, views))
        self.generation += 1

    def work_in(self) -> None:
        """Make the whole what the writes made of it."""
        for value, views in self.writes:
            self.base = _worked_in(self.base, value, views)
        self.writes = []

    def alone(self) -> bool:
        """Whether one tensor lies here."""
        return len(self.tensors) == 1


def _worked_in(base: Any, value: Any, views: tuple[_View, ...]) -> Any:
    seen = [base]
    for view in views[:-1]:
        seen.append(view.of(seen[-1]))
    for view, tensor in zip(reversed(views), reversed(seen), strict=False):
        value = view.back(tensor, value)
    return value


class FunctionalTensorWrapper(Tensor):
    """A functional tensor: `_value` has its numbers, as of `_seen`, the writes that it knows of."""

    # Its ops become others before modes hear of them.
    _before_modes = True
    _value: Any
    _own: _Memory
    _views: tuple[_View, ...]
    _seen: int
    _turned_about: bool

    @staticmethod
    def of(value: Any, memory: _Memory | None = None, views: tuple[_View, ...] = ()) -> Any:
        """A functional tensor of a value; without a memory, one of its own."""
        strides, offset = value.stride(), value.storage_offset()
        made = make_wrapper_subclass(
            FunctionalTensorWrapper, value.shape, strides, offset, dtype=value.dtype, device=value.device
        )
        made._value, made._views, made._seen, made._turned_about = value, views, 0, False
        made._lies_in(_Memory(value) if memory is None else memory)
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return functionalized(func, tuple(args), kwargs or {})

    def is_conj(self) -> bool:
        """Whether what it wraps is a lazy conjugate."""
        return bool(self._value.is_conj())

    def is_neg(self) -> bool:
        """Whether what it wraps has its sign turned lazily."""
        return bool(self._value.is_neg())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        self._sync()
        return f"_to_functional_tensor({self._value!r})"

    __str__ = __repr__

    @staticmethod
    def to_functional(x: Any) -> Any:
        """A functional tensor that wraps a plain one, and tracks gradients where that does."""
        return _to_functional_tensor(x, mirror_autograd_meta=True)

    def from_functional(self) -> Any:
        """What it wraps, with all writes."""
        return inner(self)

    @property
    def elem(self) -> Any:
        """The functional tensor, which PyTorch's class of Python wraps."""
        return self

    def sync(self) -> None:
        """Work the writes to it and to views of its memory into it."""
        self._sync()

    def replace_(self, output: Any) -> None:
        """Give it another value, which is no write yet."""
        self._replace(inner(output))

    def commit_update(self) -> None:
        """Its value is what was written."""
        self._own.write(self._value, self._views)

    def is_base_tensor(self) -> bool:
        """Whether it is no view."""
        return not self._views

    def _lies_in(self, memory: _Memory) -> None:
        if hasattr(self, "_own"):
            self._own.tensors.pop(id(self), None)
        self._own = memory
        memory.take(self)

    def _sized(self) -> None:
        """Have the sizes and strides of the value."""
        value = self._value
        if tuple(self.shape) != tuple(value.shape) or self.stride() != value.stride():
            self._array = meta_array(
                tuple(value.shape), self.dtype.np, tuple(value.stride()), value.storage_offset()
            )

    def _sync(self) -> None:
        """Know of all writes to the memory."""
        memory = self._own
        if self._seen == memory.generation:
            return
        memory.work_in()
        value = memory.base
        for view in self._views:
            value = view.of(value)
        self._replace(value)
        self._seen = memory.generation

    def _replace(self, value: Any) -> None:
        if value.dtype is not self.dtype:
            given = {"dtype": self.dtype, "layout": torch.strided}
            value = _below(overloads.anyone("_to_copy.default"), (value,), given)
        self._value = value
        self._sized()

    def _become(self, value: Any) -> None:
        """Another value, written."""
        if isinstance(value, FunctionalTensorWrapper):
            value = inner(value)
        self._replace(value)
        self._own.write(self._value, self._views)
        self._sync()

    def _turn(self, view: _View) -> None:
        """Become a view of itself, in place."""
        self._views += (view,)
        self._turned_about = True
        self._value = view.of(self._value)
        self._sized()

    def _as_it_is(self) -> Any:
        """What it is now, at its place in the graph, for gradients of an op that writes to it."""
        kept = FunctionalTensorWrapper.of(inner(self))
        kept._grad_node, kept._output_nr = self._grad_node, self._output_nr
        return kept

    def _share(self, other: Any) -> Any:
        """Lie where another functional tensor does, in place."""
        other = _checked(other, "set_")
        self._value, self._views, self._seen = other._value, other._views, other._seen
        self._lies_in(other._own)
        self._turned_about = True
        self._sized()
        return self

    def resize_as_(self, the_template: Any, *, memory_format: Any = None) -> Any:
        """Another tensor's sizes, in place."""
        return self.resize_(the_template.shape, memory_format=memory_format)

    def _resize(self, size: Any, **given: Any) -> Any:
        """Other sizes, in place; RuntimeError where the memory of several tensors would have to grow."""
        sizes = list(size)
        self._sync()
        value = _below(overloads.anyone("resize.default"), (self._value, sizes), given)
        needed = (torch.Size(sizes).numel() + self.storage_offset()) * self.itemsize
        if needed > self._own.base.untyped_storage().nbytes():
            if self._views or not self._own.alone():
                raise RuntimeError(_LARGER)
            self._value, self._seen = value, 0
            self._lies_in(_Memory(value))
            self._sized()
            return self
        ops, strides = _Calls(LOCAL.views), list(contiguous_strides(tuple(sizes)))
        self._turn(
            _View(
                lambda base: ops.view("as_strided.default", base, sizes, strides),
                lambda base, new: ops("as_strided_scatter.default", base, new, sizes, strides),
            )
        )
        return self


def _data(self: Any) -> Any:
    """The same tensor, outside the graph."""
    made = FunctionalTensorWrapper.of(self._value, self._own, self._views)
    made._seen = self._seen
    return made


setattr(FunctionalTensorWrapper, "data", property(_data, FunctionalTensorWrapper._share))


def inner(value: Any) -> Any:
    """What a functional tensor wraps, with all writes; anything else as it is."""
    if not isinstance(value, FunctionalTensorWrapper):
        return value
    value._sync()
    return value._value


def _wrapped(value: Any) -> Any:
    return FunctionalTensorWrapper.of(value) if isinstance(value, Tensor) else value


def _tensors(values: Any) -> list[Any]:
    return [v for v in flatten(values)[0] if isinstance(v, Tensor)]


def functionalized(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op, where there is a functional tensor among the arguments, or none and functionalization is on."""
    schema = op._schema
    tensors = _tensors((args, kwargs))
    if not any(isinstance(t, FunctionalTensorWrapper) for t in tensors):
        if LOCAL.mode is None:
            return op(*args, **kwargs)
        if schema.op_name in ("lift", "lift_fresh", "lift_fresh_copy"):
            return FunctionalTensorWrapper.of(_below(op, args, kwargs))
        found = op(*args, **kwargs)
        return found if tensors else tree_map(_wrapped, found)
    if LOCAL.compared:
        return _compared(op, args, kwargs)
    return _functionalized(op, args, kwargs)


def _compared(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The op, whose result lies as that of tensors without numbers."""
    with interpreters.unheard():
        try:
            wanted = op.function(**op.bound(*tree_map(_without_numbers, (args, kwargs))))
        except (NotImplementedError, RuntimeError):  # it depends on the numbers
            wanted = None
    found = _functionalized(op, args, kwargs)
    for own, like in zip(_tensors(found), _tensors(wanted), strict=False):
        for what in ("dtype", "shape", "stride", "storage_offset"):
            told, other = getattr(own, what), getattr(like, what)
            told, other = (told(), other()) if callable(told) else (told, other)
            if told != other:
                raise AssertionError(f"torch.ops.{op}: {what} is {told} of a functional tensor, not {other}")
    return found


def _without_numbers(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return torch.device("meta") if isinstance(value, torch.device) else value
    made = wrap(
        meta_array(tuple(value.shape), value.dtype.np, tuple(value.stride()), value.storage_offset()),
        kind(value.dtype, META),
    )
    return made.conj() if value.is_conj() else made


def _functionalized(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    schema = op._schema
    if op.namespace != "aten" and _told_alias(op):
        raise RuntimeError(_custom(schema))
    if schema.op_name == "set_":
        return _set(args)
    if schema.op_name == "resize_" and isinstance(args[0], FunctionalTensorWrapper):
        return args[0]._resize(*args[1:], **kwargs)
    if schema.writes:
        return _write(op, args, kwargs)
    if op.is_view or schema.op_name == "_unsafe_view":
        return _view(op, args, kwargs)
    args, kwargs = tree_map(inner, (args, kwargs))
    return tree_map(_wrapped, _below(op, args, kwargs))


def _told_alias(op: Any) -> bool:
    """Whether a signature says that the op writes, or gives views."""
    return bool(op._schema.writes or op.is_view)


def _custom(schema: Any) -> str:
    return (
        f"Found a custom (non-ATen) operator whose output has alias annotations: {schema}. We only support "
        "functionalizing operators whose outputs do not have alias annotations (e.g. 'Tensor(a)' is a Tensor "
        "with an alias annotation whereas 'Tensor' is a Tensor without. The '(a)' is the alias annotation). "
        "The alias annotation specifies that the output Tensor shares storage with an input that has "
        "the same annotation. Please check if (1) the output needs to be an output (if not, don't return "
        "it), (2) if the output doesn't share storage with any inputs, then delete the alias annotation. (3) "
        "if the output indeed shares storage with an input, then add a .clone() before returning it to "
        "prevent storage sharing and then delete the alias annotation. Otherwise, please file an issue on "
        "GitHub."
    )


def _set(args: tuple[Any, ...]) -> Any:
    target, source = args[0], args[1] if len(args) > 1 else None
    if not isinstance(target, FunctionalTensorWrapper):
        raise RuntimeError(_NOT_FUNCTIONAL)
    if not isinstance(source, Tensor) or len(args) > 2:
        made = torch.empty(0, dtype=target.dtype, device=target.device)
        source = inner(made.set_(*args[1:]) if len(args) > 1 else made)
    return target._share(source if isinstance(source, FunctionalTensorWrapper) else _wrapped(source))


def _steps(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Callable[[Any], Any], Inverse]:
    """How a view is made of a tensor, and what undoes it; NotImplementedError where nothing does."""
    name = op._schema.op_name
    inverse = INVERSES.get(f"{name}.{op._schema.overload}") or INVERSES.get(name)
    if inverse is None:
        raise NotImplementedError(f"a functional tensor has no views by torch.ops.{op}: nothing undoes them")
    views = LOCAL.views or name == "_unsafe_view"
    made = op if views else overloads.anyone(_copying(op.__name__))
    rest = args[1:]
    return lambda base: _below(made, (base, *rest), kwargs), inverse


def _step(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[int | None], _View]:
    forward, inverse = _steps(op, args, kwargs)
    calls = _Calls(LOCAL.views)
    # Without the tensor, which its views do not keep.
    bound = {name: value for name, value in op.bound(args, kwargs).items() if not isinstance(value, Tensor)}

    def view(index: int | None) -> _View:
        return _View(forward, lambda base, value: inverse(calls, base, value, bound, index or 0), index)

    return view


def _view(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    base, view = args[0], _step(op, args, kwargs)
    found = view(None).forward(base._value)
    if not isinstance(found, (list, tuple)):
        return _seen_through(base, found, view(None))
    return [_seen_through(base, value, view(i)) for i, value in enumerate(found)]


def _seen_through(base: Any, value: Any, view: _View) -> Any:
    return FunctionalTensorWrapper.of(value, base._own, (*base._views, view))


def _form(schema: Any, name: str, overload: str) -> Any:
    """The overload of another op; where it is not named so, the one of the same parameters."""
    found = overloads.recorded(name)
    names = [p.name for p in schema.arguments]
    same = (o for o in found.values() if [p.name for p in o._schema.arguments] == names)
    return found.get(overload) or next(same, None)


def _write(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    targets = args[0] if isinstance(args[0], (list, tuple)) else [args[0]]
    if not all(isinstance(t, FunctionalTensorWrapper) for t in targets):
        raise RuntimeError(_NOT_FUNCTIONAL)
    schema = op._schema
    if "inplace_view" in op._facts[2]:
        args[0]._turn(_step(_form(schema, schema.op_name[:-1], schema.overload), args, kwargs)(None))
        return args[0]
    name, overload, *missing = FORMS.get(
        (schema.op_name, schema.overload), (schema.op_name[:-1], schema.overload)
    )
    form = _form(schema, name, overload) if schema.op_name.endswith("_") else None
    if form is None or form._schema.writes:
        raise NotImplementedError(f"torch.ops.{op} has no form that does not write, for functional tensors")
    given, named = tree_map(inner, ((*args, *missing[len(args) - 1 :]), kwargs))
    found = _below(form, tuple(given), named)
    for target, value in zip(targets, found if isinstance(args[0], (list, tuple)) else [found], strict=True):
        target._become(value)
    return args[0]


class Functionalization(TorchDispatchMode):
    """The mode in which tensors that are made are functional ones."""

    _opens = True
    # Whether a tensor of Python's data is detached, so that it is a leaf, as the transform does.
    tells_leaves = False
    # Whether a FunctionalTensorMode began it.
    of_class = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return functionalized(func, tuple(args), kwargs or {})

    def hear(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op, told."""
        return functionalized(op, args, kwargs)


@contextmanager
def functional(views: bool) -> Iterator[None]:
    """A block in which functionalization is on."""
    _enable_functionalization(reapply_views=views)
    setattr(LOCAL.mode, "tells_leaves", True)
    try:
        yield
    finally:
        _disable_functionalization()


def _enable_functionalization(*, reapply_views: bool = False) -> None:
    """From here on tensors that are made in this thread are functional ones; RuntimeError where they are.

    reapply_views: views are taken of what functional tensors wrap; else copies.
    """
    if LOCAL.mode is not None:
        raise RuntimeError(
            "multiple layers of mode-style functionalization nesting is not currently supported, outside of "
            "the functionalize() transform"
        )
    LOCAL.mode = Functionalization()
    LOCAL.views = reapply_views
    LOCAL.mode.__enter__()


def _disable_functionalization() -> None:
    """Tensors that are made are plain ones again."""
    if LOCAL.mode is not None:
        LOCAL.mode.__exit__()
    LOCAL.mode, LOCAL.views = None, False


def _to_functional_tensor(t: Any, *, mirror_autograd_meta: bool = False) -> Any:
    """A functional tensor that wraps a plain one; RuntimeError for one that is functional."""
    if isinstance(t, FunctionalTensorWrapper):
        raise RuntimeError("_to_functional_tensor(t): t is a functional tensor")
    with interpreters.unheard():
        made = FunctionalTensorWrapper.of(t)
        if mirror_autograd_meta:
            _mirror_autograd_meta_to(t, made)
    return made


def _mirror_autograd_meta_to(source: Any, target: Any) -> None:
    """A tensor that tracks gradients where another one does."""
    if source.requires_grad and not target.requires_grad:
        target.requires_grad_()


def _from_functional_tensor(t: Any) -> Any:
    """What a functional tensor wraps, as of its last use; RuntimeError for a plain tensor."""
    return _checked(t, "_from_functional_tensor")._value


def _is_functional_tensor(t: Any) -> bool:
    """Whether a tensor is a functional one."""
    return isinstance(t, FunctionalTensorWrapper)


def _sync(t: Any) -> None:
    """Work the writes to a functional tensor and to views of its memory into it."""
    _checked(t, "_sync")._sync()


def _freeze_functional_tensor(t: Any) -> None:
    """From here on a write to a functional tensor, or to a view of its memory, is a RuntimeError."""
    _checked(t, "_freeze_functional_tensor")._own.frozen = True


def _functionalize_replace(t: Any, value: Any) -> None:
    """Give a functional tensor another value, which is no write yet."""
    _checked(t, "_functionalize_replace")._replace(value)


def _functionalize_commit_update(t: Any) -> None:
    """The value of a functional tensor is what was written."""
    _checked(t, "_functionalize_commit_update").commit_update()


def _functionalize_sync(t: Any) -> None:
    """As _sync."""
    _checked(t, "_functionalize_sync")._sync()


def _functionalize_has_metadata_mutation(t: Any) -> bool:
    """Whether a functional tensor's sizes or strides were changed in place."""
    turned: bool = _checked(t, "_functionalize_has_metadata_mutation")._turned_about
    return turned


def _checked(t: Any, name: str) -> Any:
    if not isinstance(t, FunctionalTensorWrapper):
        raise RuntimeError(f"{name}(t): t is no functional tensor")
    return t


def propagated(given: Any, wrapped: Any) -> None:
    """Write into a tensor what was written into the functional tensor that stood for it."""
    value = inner(wrapped)
    if value is given:
        return
    if value.numel() != given.numel():
        given.resize_(value.shape)
    if value.shape != given.shape:
        told = (given, list(value.shape), list(value.stride()))
        given = overloads.anyone("as_strided_.default")(*told)
    given.copy_(value)
