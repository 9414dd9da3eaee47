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

from rushlight._engine.core.device import META
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.core.size import Size
from rushlight._engine.dispatch import interpreters
from rushlight._engine.tensors.kind import kind
from rushlight._engine.tensors.meta import meta_array
from rushlight._engine.tensors.tensor import Tensor, wrap
from rushlight._torch_dispatch.classes import make_wrapper_subclass
from rushlight.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack, without

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
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


_NUMBERS = frozenset(("_local_scalar_dense", "item", "equal", "is_nonzero", "allclose"))
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


class FakeTensor(Tensor):
    """A tensor of a FakeTensorMode: sizes, strides, dtype and a device."""

    fake_mode: Any
    constant: Any
    _told: tuple[Any, tuple[Any, ...]]

    @staticmethod
    def __new__(cls, fake_mode: Any, elem: Any, device: Any, constant: Any = None) -> Any:
        made = make_wrapper_subclass(cls, elem._geometry.shape, dtype=elem.dtype, device=device)
        made._array = elem._memory
        made.fake_mode, made.constant = fake_mode, constant
        return made

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

    def on(self, device: Any) -> FakeTensor:
        """The same, on another device."""
        made: FakeTensor = FakeTensor(self.fake_mode, _on_meta(self), device)
        if "_told" in self.__dict__:
            made._told = self._told
        made.requires_grad = self.requires_grad
        return made

    @property
    def fake_device(self) -> Any:
        """The device that it says it lies on."""
        return self.device

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

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        where = "" if self.device.type == "cpu" else f", device='{self.device}'"
        dtype = "" if self.dtype.name == "float32" else f", dtype={self.dtype}"
        return f"FakeTensor(..., {where[2:] + ', ' if where else ''}size={tuple(self.shape)}{dtype})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mode = next(t.fake_mode for t in flatten((args, kwargs))[0] if isinstance(t, FakeTensor))
        return mode.dispatch(func, args, kwargs or {})


def _on_meta(t: Any) -> Any:
    """A tensor of the meta device that lies as another."""
    array = t._memory
    if not t._kind.on_meta:
        strides = tuple(s // array.itemsize for s in array.strides)
        array = meta_array(array.shape, array.dtype, strides)
    return wrap(array, kind(t.dtype, META))


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
        self._made: dict[int, tuple[Any, FakeTensor]] = {}

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: it is the framework's own."""
        return True

    def from_tensor(self, tensor: Any, **options: Any) -> Any:
        """The fake tensor of a tensor, the same for the same."""
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        if id(tensor) not in self._made:
            made = FakeTensor(self, _on_meta(tensor), tensor.device)
            if tensor.requires_grad:
                made.requires_grad_()
            self._made[id(tensor)] = tensor, made
        return self._made[id(tensor)][1]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.dispatch(func, args, kwargs or {})

    def dispatch(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An op on fake tensors, or of none."""
        tensors = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
        fakes = [t for t in tensors if isinstance(t, FakeTensor)]
        name = func._schema.name
        if (
            len(fakes) < len(tensors)
            and not self.allow_non_fake_inputs
            and (fakes or name not in ("lift_fresh", "detach"))
        ):
            shown = ", ".join(map(repr, tensors[:2]))
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                f"'allow_non_fake_inputs'. Found in {func}({shown})"
            )
        if fakes and name in _NUMBERS:
            raise DataDependentOutputException(func)
        if (fakes and name in _SIZES) or (
            name == "index" and any(t is not None and t.dtype.name == "bool" for t in args[1])
        ):
            raise DynamicOutputShapeException(func)
        where = (
            kwargs.get("device")
            or next((t.device for t in fakes if t.dim()), None)
            or next((t.device for t in tensors), None)
            or "cpu"
        )
        args_, kwargs_ = tree_map(
            lambda v: _on_meta(v) if isinstance(v, Tensor) else v, (tuple(args), dict(kwargs))
        )
        if "device" in kwargs_ or (not tensors and any(p.name == "device" for p in func._schema.arguments)):
            kwargs_["device"] = "meta"
        before, interpreters.CLASSES.below = interpreters.CLASSES.below, False
        try:
            found = func(*args_, **kwargs_)
        finally:
            interpreters.CLASSES.below = before
        if func._schema.writes:
            return args[0]
        return tree_map(lambda v: FakeTensor(self, v, where) if isinstance(v, Tensor) else v, found)


def is_fake(x: object) -> bool:
    """Whether a value is a fake tensor, or holds some."""
    if isinstance(x, Tensor) and hasattr(type(x), "__tensor_flatten__"):
        inner: Any = getattr(x, "__tensor_flatten__")()[0]
        return all(is_fake(getattr(x, name)) for name in inner)
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    """The mode of a fake tensor; None of anything else."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


@contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """A context without the active FakeTensorMode; gives it."""
    mode = next(
        (m for m in reversed(_get_current_dispatch_mode_stack()) if isinstance(m, FakeTensorMode)), None
    )
    if mode is None:
        yield None
        return
    with without(mode):
        yield mode


class FakeTensorConverter:
    """Makes fake tensors of a mode."""

    def from_real_tensor(self, fake_mode: FakeTensorMode, t: Any, **options: Any) -> Any:
        """The fake tensor of a tensor."""
        return fake_mode.from_tensor(t)
