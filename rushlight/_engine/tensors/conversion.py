"""The part of Tensor that turns it into Python and NumPy values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rushlight._engine.core.callers import in_assertion
from rushlight._engine.core.conversion import overflow
from rushlight._engine.core.errors import warn_once
from rushlight._engine.core.recording import TAPE, escape
from rushlight._engine.core.services import service
from rushlight._engine.tensors.of_class import asking_its_own
from rushlight._engine.tensors.storages.storage import storage

if TYPE_CHECKING:  # it imports this file
    from collections.abc import Iterator

    from rushlight._engine.tensors.tensor import Tensor

    # A part of Tensor: its other parts are there, too.
    _Tensor = Tensor
else:
    _Tensor = object


class Conversion(_Tensor):
    """item, tolist, numpy, float(), bool(), iteration, printing."""

    __slots__ = ()
    _many = False
    _prints_itself = False  # whether the class has a text of its own, as sparse tensors have

    def item(self) -> int | float | bool:
        """The value of a tensor with one element, as a Python number."""
        a = self._array
        if a.size != 1:
            raise RuntimeError(f"a Tensor with {a.size} elements cannot be converted to Scalar")
        if self._kind.on_meta:
            raise RuntimeError("Tensor.item() cannot be called on meta tensors")
        if TAPE:
            if (number := getattr(TAPE[-1], "number", None)) is not None:
                symbolic: int | float | bool = number(self)
                return symbolic
            escape(".item()", breaks=False)
        value = a.item()
        return value if type(value) in _PYTHON else float(value)

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; of a 0-d tensor, the number."""
        a = self._array
        if self._kind.on_meta:
            if self._kind.device.type != "meta":  # a class that says it lies elsewhere
                raise RuntimeError(
                    f".tolist() is not supported for tensor subclasses, got {type(self).__name__}"
                )
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        if TAPE:
            if hasattr(TAPE[-1], "number") and a.size:
                return [t.tolist() for t in self] if a.ndim else self.item()
            escape(".tolist()", breaks=a.dtype.kind not in "iub")
        if self._kind.backend is not None:
            a = self._kind.backend.read(a)
        if a.dtype.isbuiltin == 2:  # bfloat16, float8
            a = a.astype(np.float32)
        return a.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The NumPy array that shares this tensor's memory."""
        if self._kind.on_meta and self._kind.device.type != "meta":  # a class that says it lies elsewhere
            raise RuntimeError(".numpy() is not supported for tensor subclasses.")
        if self._grad_node is not None and not force and self._recorded:  # type: ignore[attr-defined]
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        if self._kind.off_cpu and not (force and self._kind.backend is not None):
            raise TypeError(
                f"can't convert {self._kind.device} device type tensor to numpy. Use Tensor.cpu() to copy "
                "the tensor to host memory first."
            )
        if self._kind.dtype.name == "bfloat16" or self._kind.dtype.name.startswith("float8"):
            raise TypeError(
                f"Got unsupported ScalarType {self._kind.dtype.legacy}; NumPy has no such "
                "type: convert with .float() first"
            )
        escape(".numpy()", breaks=False)
        if self._kind.backend is not None:
            return self._kind.backend.read(self._array).copy()
        if self._kind.lazy and force:
            return self._array.copy()
        if self._kind.lazy:
            bit, way = ("conjugate", "conj") if self._kind.conj else ("negative", "neg")
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {bit} bit set. Use "
                f"tensor.resolve_{way}().numpy() instead."
            )
        storage(self).exposed = True
        # The view must keep later in-place NumPy writes visible, so it is handed out as it is.
        return self._array.view()

    @asking_its_own
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is None:
            return array.copy() if copy else array
        return array.astype(dtype, copy=bool(copy))

    @asking_its_own
    def __dlpack__(
        self, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        # What it needs, tensors.construction.from_data, imports this file.
        from rushlight._engine.tensors.construction.interop import dlpack

        return dlpack(
            self,
            stream=stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=copy,
        )

    @asking_its_own
    def __dlpack_device__(self) -> tuple[int, int]:
        # What it needs, tensors.construction.from_data, imports this file.
        from rushlight._engine.tensors.construction.interop import dlpack_device

        return dlpack_device(self)

    @asking_its_own
    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        from rushlight._engine.tensors.tensor import wrap  # it imports this file

        return wrap(np.asarray(array))

    def _single(self) -> Any:
        if self._geometry.size != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars; "
                f"this one has {self._geometry.size}"
            )
        return self.item()

    def _real_number(self) -> float:
        """float() of it for an argument, of which nobody is told."""
        return float(_real(self._single(), "double"))

    @asking_its_own
    def __bool__(self) -> bool:
        size = self._geometry.size
        if size != 1:
            if size == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        if TAPE and not self._kind.on_meta:
            if (branch := getattr(TAPE[-1], "branch", None)) is not None:
                decided: bool = branch(self)
                return decided
            escape("a branch on data", breaks=not in_assertion())
            return bool(self._array.item())
        return bool(self.item())

    def is_nonzero(self) -> bool:
        """Whether the one element is not zero; RuntimeError for several or none."""
        return self.__bool__()

    @asking_its_own
    def __float__(self) -> float:
        found = self._single()
        if self._grad_node is not None:
            warn_of_graph()
        return float(_real(found, "double"))

    @asking_its_own
    def __int__(self) -> int:
        return int(_real(self._single(), "int64_t"))

    @asking_its_own
    def __complex__(self) -> complex:
        found = self._single()
        if self._grad_node is not None:
            warn_of_graph()
        return complex(found)

    @asking_its_own
    def __index__(self) -> int:
        if self._geometry.size != 1 or self._geometry.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        escape("an index made of a tensor", breaks=False)
        return int(self._array.item())

    def __iter__(self) -> Iterator[Tensor]:
        if not self._geometry.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def module_load(self, other: Tensor, assign: bool = False) -> Tensor:
        """What load_state_dict exchanges this parameter or buffer for, given a value of the state dict, where
        torch.__future__.set_swap_module_params_on_conversion is on: this one with the other's numbers, or
        with assign the other. A subclass may answer otherwise, with a new tensor.
        """
        return other.detach() if assign else self.copy_(other).detach()

    @asking_its_own
    def __reversed__(self) -> Tensor:
        return self.flip(0) if self._geometry.ndim else self

    @asking_its_own
    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Conversion, bool, int, float, complex)):
            return bool((self == element).any())
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )

    @asking_its_own
    def __repr__(self, *, tensor_contents: Any = None) -> str:
        # printing loads with the first tensor that is shown
        from rushlight._engine.tensors.printing import tensor_repr

        escape("printing a tensor")
        return tensor_repr(self, contents=tensor_contents)

    def __str__(self) -> str:
        text: str = self.__repr__()
        return text

    @asking_its_own
    def __format__(self, spec: str) -> str:
        if self._geometry.ndim == 0 and not self._kind.on_meta:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    @asking_its_own
    def __reduce_ex__(self, protocol: Any) -> Any:
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.tensors.copying import reduce_tensor

        return reduce_tensor(self, protocol)

    @asking_its_own
    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.tensors.copying import deepcopy_tensor

        return deepcopy_tensor(self, memo)


def warn_of_graph() -> None:
    """A program makes a number of a tensor in the graph, where no gradient follows: it may be by mistake."""
    if service("whether gradients are wanted")():
        warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
            "Consider using tensor.detach() first."
        )


def _real(value: Any, name: str) -> Any:
    if not isinstance(value, complex):
        return value
    if value.imag:
        overflow(name)
    return value.real


_PYTHON = frozenset({bool, int, float, complex})
