"""Parameter and Buffer: tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import Any, Self

import rushlight as torch
from rushlight._engine.core.services import service
from rushlight._engine.dispatch.interpreters import PLAIN
from rushlight._engine.dispatch.overrides import disabled
from rushlight._engine.lazy import package
from rushlight._engine.tensors.copying import attributes
from rushlight._engine.tensors.tensor import TensorMeta

# Where programs know these from: libraries tell frameworks apart by the module of a value's type.
_MODULE = f"{package()}.nn.parameter"


class _ParameterMeta(TensorMeta):
    """Of Parameter and Buffer: a tensor of the user's own class keeps it, and is marked instead."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls in _MARKS and isinstance(instance, torch.Tensor) and getattr(instance, _MARKS[cls], False)
        )


class Parameter(torch.Tensor, metaclass=_ParameterMeta):
    """A leaf tensor that a Module registers: it shows in `parameters()` and `state_dict()`.

    `data` (default: an empty float tensor) is shared, not copied. A tensor of a subclass keeps its
    class and still counts as a Parameter.
    """

    __module__ = _MODULE
    _detached = torch.Tensor
    # What comes of a parameter is a tensor, also where the parameter is of a class of the user's own.
    __torch_function__ = staticmethod(disabled)

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        """A parameter that shares the data of a tensor, by default an empty one; it requires grad unless
        told.

        Of a subclass of Tensor it is that subclass, marked; RuntimeError where its detach() gives another
        class.
        """
        if data is None:
            data = torch.empty(0)
        found: Self
        if type(data) is torch.Tensor or type(data) is Parameter:
            found = torch.Tensor._make_subclass(cls, data, requires_grad)
            return found
        marked: Any = data.detach().requires_grad_(requires_grad)
        if type(marked) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() "
                f"returns an instance of the same type, but return type {type(marked).__name__} was found "
                f"instead. To use the type as a Parameter, correct its detach() semantics."
            )
        marked._is_param = True
        found = marked
        return found  # counts as one: see _ParameterMeta

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(
                self.data.clone(memory_format=torch.preserve_format), self.requires_grad
            )
        found: Parameter = memo[id(self)]
        return found

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, proto: Any) -> Any:
        # Hooks are not written out: PyTorch's reader expects an (empty) table of them.
        hooks: OrderedDict[int, Any] = OrderedDict()  # one made of the alias would be pickled with it
        built = (self.data, self.requires_grad, hooks)
        given = attributes(self)
        if not given:
            return _rebuild_parameter, built
        return _rebuild_parameter_with_state, (*built, given)


PLAIN.add(Parameter)


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Parameter:
    return Parameter(data, requires_grad)


_rebuild_parameter.__module__ = f"{package()}._utils"


def _rebuild_parameter_with_state(
    data: Any, requires_grad: bool, backward_hooks: Any, state: dict[str, Any]
) -> Parameter:
    param = Parameter(data, requires_grad)
    for name, value in state.items():
        setattr(param, name, value)
    return param


_rebuild_parameter_with_state.__module__ = f"{package()}._utils"


class Buffer(torch.Tensor, metaclass=_ParameterMeta):
    """A tensor that a Module registers as a buffer when it is assigned.

    `persistent=False` keeps it out of `state_dict()`. The result is a plain tensor with a mark.
    """

    __module__ = _MODULE

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        """The tensor's data as a buffer; not `persistent`: left out of state_dict(). It requires grad if the
        tensor does.
        """
        if data is None:
            data = torch.empty(0)
        marked = data.detach().requires_grad_(data.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked


_MARKS: dict[type, str] = {Parameter: "_is_param", Buffer: "_is_buffer"}


class UninitializedTensorMixin:
    """A tensor whose shape is not known yet; `materialize(shape)` turns it into a real one."""

    cls_to_become: type
    data: Any
    requires_grad: bool
    _ALLOWED = frozenset(
        {
            "copy_",
            "is_floating_point",
            "half",
            "float",
            "double",
            "char",
            "short",
            "int",
            "long",
            "cuda",
            "cpu",
            "to",
            "get_device",
            "_has_compatible_shallow_copy_type",
            "is_complex",
            "size",
        }
    )

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an uninitialised tensor of `shape`, of the class this one stands for."""
        if device is None:
            device = self.data.device
        if dtype is None:
            dtype = self.data.dtype
        self.data = torch.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Not known yet: RuntimeError."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "`forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """Not possible yet: RuntimeError."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__}>"

    def __reduce_ex__(self, proto: Any) -> Any:
        return self.__class__, (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if (
            name in cls._ALLOWED
            or name in ("__get__", "__set__")
            or (func.__class__.__name__ == "method-wrapper")
        ):
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc] # Tensor's
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when "
            "you are using a `LazyModule` or explicitly manipulating `torch.nn.parameter."
            f"{cls.__name__}` objects. When using LazyModules Call `forward` with a dummy batch "
            "to initialize the parameters before calling torch functions"
        )


def is_lazy(param: Any) -> bool:
    """Whether the shape of a parameter or buffer is still unknown."""
    return isinstance(param, UninitializedTensorMixin)


@lru_cache(None)
def _listening(cls: type) -> None:
    """Let methods that are no ops ask the class, too: when its first tensor is made, since few are."""
    service("class with a __torch_function__")(cls)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # both have a repr
    """A Parameter whose shape a lazy module finds at its first forward."""

    __module__ = _MODULE
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        """A parameter without a shape yet, on `device` (default: the current) of `dtype` (default: the
        default one).
        """
        _listening(cls)
        return torch.Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        found: UninitializedParameter = memo[id(self)]
        return found


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):  # both have a repr
    """A buffer whose shape a lazy module finds at its first forward."""

    __module__ = _MODULE
    cls_to_become = torch.Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        """A buffer without a shape yet; not `persistent`: left out of state_dict()."""
        _listening(cls)
        made = torch.Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made
