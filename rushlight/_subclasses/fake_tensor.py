"""torch._subclasses.fake_tensor: tensors with a device and no memory, and the mode in which all tensors are
such.

An op on fake tensors is run on the meta device, which knows every op's shapes, and its results are fake
again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from rushlight._engine.core.device import META, device as Device
from rushlight._engine.core.dtype import get_default_dtype
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.core.size import Size
from rushlight._engine.dispatch import interpreters, method_overrides
from rushlight._engine.dispatch.overrides import run_below
from rushlight._engine.tensors.geometry import strided
from rushlight._engine.tensors.kind import kind
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.tensor import Tensor, storage, wrap
from rushlight._functorch import config
from rushlight._subclasses.meta_utils import MetaConverter
from rushlight._torch_dispatch.classes import make_wrapper_subclass, unreal
from rushlight.library.below import CONTEXT
from rushlight.nn.parameter import Parameter
from rushlight.overrides import TorchFunctionMode
from rushlight.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack, without

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeCopyMode",
    "FakeTensor",
    "FakeTensorConverter",
    "FakeTensorDeviceMismatchError",
    "FakeTensorMode",
    "MetadataMismatchError",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


class UnsupportedFakeTensorException(RuntimeError):
    """There is no fake tensor of this."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Refused(RuntimeError):
    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class DynamicOutputShapeException(_Refused):
    """The op's sizes depend on numbers that nobody knows."""


class DataDependentOutputException(_Refused):
    """The op gives Python a number that nobody knows."""


class UnsupportedOperatorException(_Refused):
    """An op of a program has no function of register_fake, and nothing else says what it gives."""


class MetadataMismatchError(RuntimeError):
    """A fake tensor is not what the real one is."""

    @property
    def reason(self) -> str:
        """What differs."""
        return str(self)


class FakeTensorDeviceMismatchError(RuntimeError):
    """An op on fake tensors of several devices."""

    def __init__(self, func: Any, common_device: Any, device: Any) -> None:
        super().__init__(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{common_device} and {device}!"
        )
        self.func, self.common_device, self.device = func, common_device, device


_NUMBERS = frozenset(("_local_scalar_dense", "item", "equal", "is_nonzero", "allclose"))
_ITEM = ("_local_scalar_dense", "item")
_SIZES = frozenset(
    (
        "nonzero",
        "masked_select",
        "unique",
        "_unique2",
        "unique_consecutive",
        "unique_dim",
        "repeat_interleave",
        "bincount",
    )
)


_LIFTING = frozenset(("lift", "lift_fresh", "lift_fresh_copy"))
# Ops whose tensors may lie on several devices.
_BETWEEN = frozenset(("copy_", "copy", "_to_copy", "index", "index_put", "index_put_", "_foreach_copy_"))
# Ops whose indices may lie on the CPU where the rest is on the meta device.
_BY_INDICES = frozenset(("embedding", "index_select", "gather", "_summed", "_bag_numbers"))
_RANDOM = frozenset(
    ("bernoulli", "bernoulli_", "normal_", "uniform_", "random_", "exponential_", "multinomial")
)


# Ops that are given the sizes of what they make, and where.
_FACTORIES = {
    **dict.fromkeys(("empty", "zeros", "ones", "full", "rand", "randn", "empty_strided"), 0),
    **dict.fromkeys(("new_empty", "new_zeros", "new_ones", "new_full"), 1),
}


class FakeTensor(Tensor):
    """A tensor of a FakeTensorMode: sizes, strides, dtype and a device."""

    fake_mode: Any
    constant: Any
    real_tensor: Any = None  # of a draft's inputs: what they were at the recording
    _told: tuple[Any, tuple[Any, ...]]

    @staticmethod
    def __new__(cls, fake_mode: Any, elem: Any, device: Any, constant: Any = None) -> Any:
        if not getattr(fake_mode, "allow_meta", True) and Device(device).type == "meta":
            raise AssertionError("device.type must not be 'meta' when allow_meta is False")
        made = make_wrapper_subclass(cls, elem._geometry.shape, dtype=elem.dtype, device=device)
        made._array, made._storage = elem._memory, elem._storage
        made.fake_mode, made.constant = fake_mode, constant
        return made

    @staticmethod
    def from_tensor(t: Any, fake_mode: Any) -> Any:
        """The fake tensor of a tensor."""
        return fake_mode.from_tensor(t)

    @classmethod
    def of(
        cls, mode: Any, shape: Any, strides: Any, sizes: Any, steps: Any, dtype: Any, device: Any
    ) -> FakeTensor:
        """A fake tensor of this shape and these strides, told as `sizes` and `steps`, some of which are
        symbolic numbers.
        """
        elem = wrap(meta_array(tuple(shape), dtype.np, tuple(strides)), kind(dtype, META))
        made: FakeTensor = cls(mode, elem, device)
        if any(type(n) is not int for n in (*sizes, *steps)):
            made._told = tuple.__new__(Size, tuple(sizes)), tuple(steps)
        return made

    def resize_(self, *size: Any, **options: Any) -> Any:
        """Other sizes, in place: what numbers it has is not known any more."""
        self.fake_mode._forget(self)
        with interpreters.unheard():
            return super().resize_(*size, **options)

    def told_as(self, sizes: Any) -> None:
        """Say these sizes, where some are symbolic; strides are those of a contiguous tensor."""
        if not any(type(n) is not int for n in sizes):
            return
        steps: list[Any] = [1]
        for n in tuple(sizes)[:0:-1]:
            steps.append(steps[-1] * n)
        self._told = tuple.__new__(Size, tuple(sizes)), tuple(steps[::-1][: len(sizes)])

    def on(self, device: Any) -> FakeTensor:
        """The same, on another device."""
        made: FakeTensor = FakeTensor(self.fake_mode, _on_meta(self), device)
        if "_told" in self.__dict__:
            made._told = self._told
        made.requires_grad = self.requires_grad
        return made

    @property
    def fake_device(self) -> Any:
        """The device that it says it lies on, which may be set."""
        return self.device

    @fake_device.setter
    def fake_device(self, device: Any) -> None:
        self._kind = unreal(self.dtype, str(_whole(device)))

    @property
    def shape(self) -> Any:
        """The sizes of all dims; some may be symbolic."""
        told = self.__dict__.get("_told")
        return Size(self._geometry.shape) if told is None else told[0]

    def size(self, dim: Any = None) -> Any:
        """All sizes, or the size of one dim."""
        found = super().size(dim)
        return found if "_told" not in self.__dict__ else self.shape if dim is None else self.shape[dim]

    def stride(self, dim: Any = None) -> Any:
        """All strides, or the stride of one dim."""
        found = super().stride() if dim is None else super().stride(dim)
        told = self.__dict__.get("_told")
        return found if told is None else told[1] if dim is None else told[1][dim]

    def numel(self) -> Any:
        """The number of elements."""
        return math.prod(self.shape) if "_told" in self.__dict__ else super().numel()

    nelement = numel

    def __deepcopy__(self, memo: Any) -> FakeTensor:
        return self

    def _decided(self) -> None:
        """GuardOnDataDependentSymNode where the number that Python wants is a symbol."""
        if self.fake_mode.shape_env is None or self._geometry.size != 1:
            return
        found = self.item()
        if hasattr(found, "node"):
            from rushlight.export.errors import GuardOnDataDependentSymNode  # whose package imports this file

            told = f"{found.node.expr} (unhinted: {found.node.expr})"
            raise GuardOnDataDependentSymNode(f"Could not guard on data-dependent expression {told}.")

    def __bool__(self) -> bool:
        self._decided()
        return super().__bool__()

    def __int__(self) -> int:
        self._decided()
        return super().__int__()

    def __float__(self) -> float:
        self._decided()
        return super().__float__()

    def __index__(self) -> int:
        self._decided()
        return super().__index__()

    def tolist(self) -> Any:
        """The numbers of a constant; symbols where there is a ShapeEnv, else DataDependentOutputException."""
        if self.dim() == 0:
            return self.item()
        return [part.tolist() for part in self.unbind(0)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        parts = ["..."] if self.device.type == "cpu" else ["...", f"device='{self.device}'"]
        parts.append(f"size={tuple(self.shape)}")
        if self.dtype is not get_default_dtype():
            parts.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        text = f"FakeTensor({', '.join(parts)})"
        return f"Parameter({text})" if "_is_param" in self.__dict__ else text

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mode = next(t.fake_mode for t in flatten((args, kwargs))[0] if isinstance(t, FakeTensor))
        return mode.dispatch(func, args, kwargs or {})


def _on_meta(t: Any) -> Any:
    """A tensor of the meta device that lies as another; in the same memory, if this is none either."""
    array = t._memory
    if isinstance(t, FakeTensor) or t._kind.on_meta:
        made = wrap(array, kind(t.dtype, META))
        made._storage = storage(t)
        return made
    strides = tuple(s // array.itemsize for s in array.strides)
    return wrap(meta_array(array.shape, array.dtype, strides), kind(t.dtype, META))


def _all_on_meta(tree: Any) -> Any:
    return tree_map(lambda v: _on_meta(v) if isinstance(v, Tensor) else v, tree)


class UnknownSizes:
    """What an op's fake function is given to ask for sizes that depend on numbers: nobody knows them. env: a
    ShapeEnv, which has symbols for them. first: what the first is taken for; no tensor has such a size.
    """

    def __init__(self, func: Any, env: Any = None, first: int = 4099) -> None:
        self._func, self._env, self._first = func, env, first
        self.made: dict[int, Any] = {}

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """Another symbolic size; DynamicOutputShapeException where nobody has symbols for such."""
        if self._env is None:
            raise DynamicOutputShapeException(self._func)
        value = self._first + 2 * len(self.made)
        self.made[value] = self._env.unbacked_size(value, min, math.inf if max is None else max)
        return self.made[value]

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> Any:
        """The older name of new_dynamic_size."""
        return self.new_dynamic_size(min=min, max=max)


class FakeTensorMode(TorchDispatchMode):
    """Inside, factories make fake tensors, and ops on fake tensors give such.

    allow_non_fake_inputs: take other tensors beside fake ones, for their sizes. The other options are
    accepted: sizes are always numbers.
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: Any = None,
        export: bool = False,
    ) -> None:
        super().__init__()
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env, self.static_shapes, self.export = shape_env, True, export
        self.allow_meta = config.fake_tensor_allow_meta
        self._known: WeakValueDictionary[int, FakeTensor] = WeakValueDictionary()  # constants, by id
        self.fake_tensor_converter = FakeTensorConverter()
        self._unknown: dict[int, Any] = {}  # symbolic sizes of the op at hand, by what they are taken for
        self._again: list[bool] = []  # of each `with`, innermost last: whether it was entered already

    def __enter__(self) -> Any:
        self._again.append(maybe_mode() is self)
        return self if self._again[-1] else super().__enter__()

    def __exit__(self, *error: object) -> None:
        if not self._again.pop():
            super().__exit__(*error)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: it is the framework's own."""
        return True

    def from_tensor(self, tensor: Any, **options: Any) -> Any:
        """The fake tensor of a tensor, the same for the same."""
        if isinstance(tensor, FakeTensor) and tensor.fake_mode is self:
            return tensor
        return self.fake_tensor_converter.from_real_tensor(self, tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.dispatch(func, args, kwargs or {})

    def dispatch(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An op on fake tensors, or of none."""
        tensors = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
        fakes = [t for t in tensors if isinstance(t, FakeTensor)]
        name = func._schema.op_name
        if name in _LIFTING and not fakes:
            return self._of_constant(tensors[0])
        self._check(func, name, tensors, fakes, (*args, *kwargs.values()))
        constant = self._constant(func, args, kwargs, fakes, name)
        if isinstance(constant, Tensor) and not func._schema.writes and _sees(constant, tensors):
            constant = None  # a write to the fake view is none to the tensor
        if name in _NUMBERS and fakes:
            return self._number(func, fakes[0]) if constant is None else constant
        if (fakes and name in _SIZES) or (
            name == "index" and any(t is not None and t.dtype.name == "bool" for t in args[1])
        ):
            raise DynamicOutputShapeException(func)
        where = kwargs.get("device") or self._common_device(func, name, tensors) or "cpu"
        found = self._on_meta(func, args, kwargs, bool(tensors))
        writes = func._schema.writes
        written = self._written(func._schema, args, kwargs, constant) if writes else {}
        made = tree_map(lambda v: FakeTensor(self, v, _whole(where)) if isinstance(v, Tensor) else v, found)
        if self._unknown:
            self._tell_unknown(made)
        if writes:
            return _returned(func._schema.returns, made, written)
        if isinstance(made, FakeTensor):
            self._know(made, constant)
            if name in _FACTORIES:
                made.told_as(args[_FACTORIES[name]])
        return made

    def _number(self, func: Any, t: FakeTensor) -> Any:
        """A number that nobody knows, a float or a condition: a symbol where there is a ShapeEnv. Else
        DataDependentOutputException: what is made of a whole number may be as large as it, and ops on such
        tensors know no sizes but numbers.
        """
        name, env = func._schema.op_name, self.shape_env
        if env is not None and name in _ITEM and t.dtype.is_floating_point:
            return env.create_unbacked_symfloat()
        if env is not None and name in _ITEM and t.dtype.name == "bool":
            return env.create_unbacked_symbool()
        raise DataDependentOutputException(func)

    def _of_constant(self, t: Any) -> FakeTensor:
        """A fake tensor of what Python has, which is known."""
        made: FakeTensor = FakeTensor(self, _on_meta(t), t.device)
        self._know(made, t.clone() if t.numel() == 1 else None)
        return made

    def _know(self, made: FakeTensor, constant: Any) -> None:
        """Say what numbers a new fake tensor stands for, if they are known."""
        made.constant = constant
        if constant is not None:
            self._known[id(made)] = made

    def _written(self, schema: Any, args: Any, kwargs: Any, constant: Any) -> dict[Any, Any]:
        """Of the arguments that an op has written to, by their aliases, no more is known than `constant`."""
        given = dict(zip([p.name for p in schema.arguments], args, strict=False)) | kwargs
        into = {p.alias_info.sets[0]: given.get(p.name) for p in schema.arguments if p.is_written}
        for t in flatten(list(into.values()))[0]:
            if isinstance(t, FakeTensor) and (constant is None or t.constant is None):
                self._forget(t)
            elif isinstance(t, FakeTensor):
                t.constant = constant
        return into

    def _forget(self, written: Any) -> None:
        """Of what shares memory with a tensor that was written to, no numbers are known any more."""
        written.constant = None
        for known in list(self._known.values()):
            if np.may_share_memory(known._array, written._array):
                known.constant = None

    def _check(self, func: Any, name: str, tensors: list[Any], fakes: list[Any], given: Any) -> None:
        if any(t.fake_mode is not self for t in fakes):
            raise AssertionError("Mixing fake modes NYI")
        if len(fakes) < len(tensors) and not self.allow_non_fake_inputs and (fakes or name != "detach"):
            shown = ", ".join(map(_shown, given))
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                f"'allow_non_fake_inputs'. Found in {func}({shown})"
            )

    def _constant(self, func: Any, args: Any, kwargs: Any, fakes: list[Any], name: str) -> Any:
        """What an op on known numbers gives; None where not all are known, or they become many."""
        if any(t.constant is None for t in fakes) or name in _RANDOM or "device" in kwargs:
            return None
        if not fakes and not any(p.type == "Tensor" for p in func._schema.arguments):
            return None  # what makes tensors of sizes
        args, kwargs = tree_map(
            lambda v: v.constant if isinstance(v, FakeTensor) else v, (tuple(args), dict(kwargs))
        )
        found = run_below(FakeTensor, func, (), args, kwargs)
        many = isinstance(found, (tuple, list)) or (isinstance(found, Tensor) and found.numel() != 1)
        return None if many else found

    def _common_device(self, func: Any, name: str, tensors: list[Any]) -> Any:
        """Where a result lies: with the tensors that have dims; FakeTensorDeviceMismatchError for several."""
        placed = [t.device for t in tensors if t.dim()] or [t.device for t in tensors[:1]]
        meta = [t for t in tensors if t.device.type == "meta"]
        if name in _BY_INDICES and meta:
            return meta[0].device
        other = next((d for d in placed if d != placed[0]), None)
        if other is not None and name not in _BETWEEN:
            raise FakeTensorDeviceMismatchError(func, placed[0], other)
        numbers = [t.device for t in tensors if not t.dim() and t.device.type != "cpu"]
        strange = next((d for d in numbers if placed and d != placed[0]), None)
        if strange is not None and any(t.dim() for t in tensors) and name not in _BETWEEN:
            raise FakeTensorDeviceMismatchError(func, placed[0], strange)
        return next(iter(numbers or placed), None)

    def _on_meta(self, func: Any, args: Any, kwargs: dict[str, Any], given: bool) -> Any:
        """The op on the meta device."""
        args_, kwargs_ = _all_on_meta((tuple(args), dict(kwargs)))
        if not given and "Meta" in getattr(func, "_kernels", ()):  # an op of a program's own
            return _all_on_meta(self._own(func, func.faked, args_, kwargs_))
        if "device" in kwargs_ or (not given and any(p.name == "device" for p in func._schema.arguments)):
            kwargs_["device"] = "meta"
        if hasattr(func, "faked") and func.of._kernels and not _said_by(func.of):
            raise UnsupportedOperatorException(func)
        if not hasattr(func, "faked"):
            return run_below(FakeTensor, func, (), args_, kwargs_)
        return self._own(func, run_below, FakeTensor, func, (), args_, kwargs_)

    def _own(self, func: Any, run: Any, *args: Any) -> Any:
        """An op of a program's own, whose function may ask for sizes."""
        asked = UnknownSizes(func, self.shape_env)
        found = _asking(asked, run, args)
        if asked.made:  # once more, with other numbers in their place: what else differs depends on them
            other = UnknownSizes(func, type(self.shape_env)(), 8209)
            self._unknown = asked.made
            pairs = zip(flatten(found)[0], flatten(_asking(other, run, args))[0], strict=True)
            for one, two in pairs:
                same = [n in asked.made or n == m for n, m in zip(_shape(one), _shape(two), strict=True)]
                if not all(same):
                    raise DynamicOutputShapeException(func)
        return found

    def _tell_unknown(self, made: Any) -> None:
        """The symbolic sizes of an op's results."""
        known, self._unknown = self._unknown, {}
        for t in flatten(made)[0]:
            if isinstance(t, FakeTensor):
                t.told_as([known.get(n, n) for n in _shape(t)])


def _shape(value: Any) -> tuple[int, ...]:
    """A result's sizes as numbers."""
    return tuple(value._geometry.shape) if isinstance(value, Tensor) else ()


def _asking(sizes: UnknownSizes, run: Any, args: Any) -> Any:
    """run(*args), in which get_ctx() gives `sizes`."""
    token = CONTEXT.set(sizes)
    try:
        return run(*args)
    finally:
        CONTEXT.reset(token)


def _said_by(op: Any) -> bool:
    """Whether a function of an op of a program's own says what it gives on the meta device."""
    kernels = op._kernels.keys()
    return bool(op._only_writes) or any(key == "Meta" or key.startswith("Composite") for key in kernels)


def _returned(returns: Any, made: Any, written: dict[Any, Any]) -> Any:
    """What an op gives that writes: the arguments that its signature says, and what it has made."""
    results = made if len(returns) > 1 else (made,)
    found = tuple(
        written[r.alias_info.sets[0]] if r.is_written else value
        for r, value in zip(returns, results, strict=False)
    )
    return found if len(returns) > 1 else found[0] if found else None


def _sees(view: Tensor, tensors: list[Any]) -> bool:
    """Whether a tensor is a view of one that is no fake."""
    real = [t for t in tensors if type(t) in (Tensor, Parameter)]
    return type(view) is Tensor and any(np.may_share_memory(view._memory, t._memory) for t in real)


def _whole(where: Any) -> Any:
    """A device with its number: that of a card which is not named is 0."""
    found = Device(where)
    return Device(found.type, 0) if found.type not in ("cpu", "meta") and found.index is None else found


def _shown(t: Any) -> str:
    """An argument in the text of an error: a tensor without its numbers."""
    if isinstance(t, (tuple, list)):
        inner = ", ".join(map(_shown, t))
        return f"[{inner}]" if isinstance(t, list) else f"({inner})"
    if isinstance(t, FakeTensor) or not isinstance(t, Tensor):
        return repr(t)
    inside = "[...]" if t.dim() else repr(t)[len("tensor(") : -1]
    return f"tensor({inside}, size={tuple(t.shape)})"


def is_fake(x: object) -> bool:
    """Whether a value is a fake tensor, or holds some."""
    if isinstance(x, Tensor) and hasattr(type(x), "__tensor_flatten__"):
        inner: Any = getattr(x, "__tensor_flatten__")()[0]
        return all(is_fake(getattr(x, name)) for name in inner)
    return isinstance(x, FakeTensor)


def maybe_mode() -> FakeTensorMode | None:
    """The active FakeTensorMode."""
    modes = reversed(_get_current_dispatch_mode_stack())
    return next((m for m in modes if isinstance(m, FakeTensorMode)), None)


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    """The mode of a fake tensor; None of anything else."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


@contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """A context without the active FakeTensorMode; gives it."""
    mode = maybe_mode()
    if mode is None:
        yield None
        return
    with without(mode):
        yield mode


class FakeTensorConverter:
    """Makes fake tensors of a mode, the same one for the same tensor, as long as both live."""

    def __init__(self, *, copy_data: bool = False, export: bool = False) -> None:
        self.meta_converter = MetaConverter(copy_data=copy_data)
        self.export = export
        self._by_device: WeakValueDictionary[tuple[int, str], FakeTensor] = WeakValueDictionary()

    @property
    def tensor_memo(self) -> WeakValueDictionary[int, Any]:
        """The fake tensors that live, by numbers."""
        return self.meta_converter.tensor_memo

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Any, **options: Any) -> FakeTensor:
        """The fake tensor of a tensor."""
        number = self.meta_converter.number(t)
        made: FakeTensor | None = self.tensor_memo.get(number)
        if made is None:
            real = t.layout is strided and not isinstance(t, FakeTensor)
            elem = self.meta_converter.bare(t) if real else _on_meta(t)
            made = FakeTensor(fake_mode, elem, t.device)
            if t.requires_grad:
                made.requires_grad_()
            if getattr(t, "_is_param", False) or isinstance(t, Parameter):
                setattr(made, "_is_param", True)
            self.tensor_memo[number] = made
            if t.is_leaf and t.grad is not None:
                made.grad = self.from_real_tensor(fake_mode, t.grad)
        return made

    def from_meta_and_device(self, fake_mode: FakeTensorMode, t: Any, device: Any, *rest: Any) -> FakeTensor:
        """The fake tensor of a tensor of the meta device, said to lie on this one."""
        if t.device.type != "meta":
            raise AssertionError(f"tensor's device must be `meta`, got {t.device.type} instead")
        key = self.meta_converter.number(t), str(device)
        made = self._by_device.get(key)
        if made is None:
            made = self._by_device[key] = FakeTensor(fake_mode, t, device)
        return made


class FakeCopyMode(TorchFunctionMode):
    """Inside, copies of tensors (clone(), copy.deepcopy()) are fake tensors of a mode."""

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self.fake_mode = fake_mode

    def __enter__(self) -> Any:
        method_overrides.enter()  # __deepcopy__ is no op of the table
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        method_overrides.leave()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.clone:
            return func(self.fake_mode.from_tensor(args[0], static_shapes=True), **kwargs)
        if func is not Tensor.__deepcopy__:
            return func(*args, **kwargs)
        tensor, memo = args
        if id(tensor) not in memo:
            memo[id(tensor)] = self.fake_mode.from_tensor(tensor, static_shapes=True)
        return memo[id(tensor)]
