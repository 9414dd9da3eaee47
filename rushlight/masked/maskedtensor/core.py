"""MaskedTensor: data, and a mask that is True where an element counts."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeGuard

import rushlight as torch
from rushlight import Tensor, masked
from rushlight._engine.core.callers import warn

__all__ = ["MaskedTensor", "is_masked_tensor"]

_PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open "
    "a Github issue for features requests and see our documentation on the torch.masked module for further "
    "information about the project."
)
_TRACKED = (
    "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can "
    "use data.detach().clone()"
)
_MISSING = (
    "{} is not implemented in __torch_dispatch__ for MaskedTensor.\nIf you would like this operator to be "
    "supported, please file an issue for a feature request at https://github.com/pytorch/maskedtensor/issues "
    "with a minimal reproducible code snippet.\nIn the case that the semantics for the operator are not "
    "trivial, it would be appreciated to also include a proposal for the semantics."
)
SPARSE = (torch.sparse_coo, torch.sparse_csr)
_OTHER_PLACES = {
    torch.sparse_coo: "data and mask are both sparse COO tensors but do not have the same indices.",
    torch.sparse_csr: "data and mask are both sparse CSR tensors but do not share either crow or col "
    "indices.",
}
_DTYPES = ("float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64")


def is_masked_tensor(obj: Any, /) -> TypeGuard[MaskedTensor]:
    """Whether `obj` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def data_of(value: Any) -> Any:
    """The data of a MaskedTensor; anything else as it is."""
    return value._masked_data if is_masked_tensor(value) else value


def mask_of(value: Any) -> Any:
    """The mask of a MaskedTensor; None for anything else."""
    return value._masked_mask if is_masked_tensor(value) else None


def places(sparse: Tensor) -> tuple[Tensor, ...]:
    """The indices that a COO or CSR tensor has."""
    if sparse.layout == torch.sparse_coo:
        return (sparse.indices(),)
    return sparse.crow_indices(), sparse.col_indices()


def same_places(one: Tensor, other: Tensor) -> bool:
    """Whether two sparse tensors of one layout have the same indices."""
    return all(_tensors_match(*pair) for pair in zip(places(one), places(other), strict=True))


def with_values(sparse: Tensor, values: Tensor) -> Tensor:
    """Other values at the indices of a COO or CSR tensor."""
    if sparse.layout == torch.sparse_coo:
        return torch.sparse_coo_tensor(sparse.indices(), values, sparse.size(), is_coalesced=True)
    made: Tensor = torch.sparse_csr_tensor(*places(sparse), values, sparse.size())
    return made


def _tensors_match(a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two plain tensors of one layout have the same values, or close ones unless `exact`."""
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    b = b.to(a.dtype)
    if a.layout in SPARSE:
        return same_places(a, b) and _tensors_match(a.values(), b.values(), exact)
    if a.dim() != b.dim():
        return False
    return bool(torch.eq(a, b).all()) if exact else bool(torch.allclose(a, b, rtol=rtol, atol=atol))


def _masks_match(a: Any, b: Any) -> bool:
    """Whether the masks of two MaskedTensors are equal; True where one is none."""
    return not (is_masked_tensor(a) and is_masked_tensor(b)) or _tensors_match(mask_of(a), mask_of(b))


class Values(torch.autograd.Function):
    """Data under a mask, differentiable in the data."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> MaskedTensor:
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


class _Data(torch.autograd.Function):
    """The data of a MaskedTensor, whose gradient has its mask."""

    @staticmethod
    def forward(ctx: Any, masked: MaskedTensor) -> Tensor:
        ctx.mask = masked._masked_mask
        return masked._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad if is_masked_tensor(grad) else MaskedTensor(grad, ctx.mask)


class _Converted(torch.autograd.Function):
    """A MaskedTensor in another layout, whose gradient goes back in the first one."""

    @staticmethod
    def forward(ctx: Any, masked: MaskedTensor, layout: Any) -> Tensor:
        ctx.layout = masked.layout
        if layout == masked.layout:
            return masked
        data, mask = masked._masked_data, masked._masked_mask
        if layout == torch.strided:
            return MaskedTensor(data.to_dense(), mask.to_dense())
        mask = mask.to_sparse_csr() if layout == torch.sparse_csr else mask.to_sparse_coo().coalesce()
        return MaskedTensor(data.to_dense().sparse_mask(mask), mask)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Tensor, None]:
        return _Converted.apply(grad, ctx.layout), None


class MaskedTensor(Tensor):
    """A tensor whose elements count where `mask`, a bool tensor of the same size, is True.

    Reductions leave the others out, and where there is no element the result is masked. Data and mask are
    copied. Ops on two of them want equal masks. Both may be sparse, COO or CSR: the values that the mask
    names are those that count. TypeError for other than tensors, other layouts, a mask that is not bool and
    dtypes that have no MaskedTensor; ValueError for different sizes or indices.
    """

    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(cls: Any, data: Tensor, mask: Tensor, requires_grad: bool = False) -> Any:
        """An instance without memory of its own."""
        for name, given in (("data", data), ("mask", mask)):
            if is_masked_tensor(given) or not isinstance(given, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        warn(_PROTOTYPE, UserWarning)
        if data.requires_grad:
            warn(_TRACKED, UserWarning)
        return Tensor._make_wrapper_subclass(
            cls,
            data.size(),
            strides=data.stride() if data.layout == torch.strided else None,
            dtype=data.dtype,
            device=data.device,
            requires_grad=requires_grad,
        )

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        if data.layout != mask.layout:
            raise TypeError("data and mask must have the same layout.")
        data = data.detach()
        if data.layout == torch.sparse_coo:
            data, mask = data.coalesce(), mask.coalesce()
        if data.layout in SPARSE and len(data.values()) != len(mask.values()):
            data = masked._ops._where(mask, data, torch.tensor(0, dtype=data.dtype))
        self._set_data_mask(data.clone(), mask.clone())

    def _set_data_mask(self, data: Tensor, mask: Tensor) -> None:
        if type(data) is not type(mask):
            raise TypeError(f"data and mask must have the same type. Got {type(data)} and {type(mask)}")
        if data.layout not in (torch.strided, *SPARSE):
            raise TypeError(f"data layout of {data.layout} is not supported.")
        if data.layout in SPARSE and not same_places(data, mask):
            raise ValueError(_OTHER_PLACES[data.layout])
        if mask.dtype != torch.bool:
            raise TypeError("mask must have dtype bool.")
        if str(data.dtype).partition(".")[2] not in _DTYPES:
            raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
        if data.dim() != mask.dim():
            raise ValueError("data.dim() must equal mask.dim()")
        if data.size() != mask.size():
            raise ValueError("data.size() must equal mask.size()")
        self._masked_data = data
        self._masked_mask = mask

    @staticmethod
    def _from_values(data: Tensor, mask: Tensor) -> MaskedTensor:
        made: MaskedTensor = Values.apply(data, mask)
        return made

    def get_data(self) -> Tensor:
        """The data, also of elements that do not count; its gradient has this mask."""
        found: Tensor = _Data.apply(self)
        return found

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """The data, with `value` where elements do not count."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    def to_dense(self, *args: Any, **kwargs: Any) -> MaskedTensor:
        """Dense data and mask."""
        found: MaskedTensor = _Converted.apply(self, torch.strided)
        return found

    def to_sparse(self, *args: Any, **kwargs: Any) -> MaskedTensor:
        """COO data and mask: where the mask is True."""
        found: MaskedTensor = _Converted.apply(self, torch.sparse_coo)
        return found

    def to_sparse_coo(self) -> MaskedTensor:
        """The same as to_sparse()."""
        return self.to_sparse()

    def to_sparse_csr(self, *args: Any, **kwargs: Any) -> MaskedTensor:
        """CSR data and mask of a matrix: where the mask is True; ValueError for other dims."""
        if self.dim() != 2:
            raise ValueError(
                f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {self.size()}"
            )
        found: MaskedTensor = _Converted.apply(self, torch.sparse_csr)
        return found

    def is_contiguous(self, memory_format: Any = torch.contiguous_format) -> bool:
        """Whether dense data is contiguous; ValueError for sparse data."""
        if self.is_sparse:
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
        return self._masked_data.is_contiguous(memory_format=memory_format)

    def _indices(self) -> MaskedTensor:
        return _all_there(self._masked_data.indices())

    def _values(self) -> MaskedTensor:
        return _all_there(self._masked_data.values())

    def __repr__(self, **options: Any) -> str:
        data, mask = self._masked_data, self._masked_mask
        if self.is_sparse:
            data, mask = data.to_dense(), mask.to_dense()
        if data.dim() == 0:
            return f"MaskedTensor({_shown(data.item()) if mask.item() else '--'}, {mask.item()})"
        return f"MaskedTensor(\n{_indented(_table(data, mask))}\n)"

    def __lt__(self, other: Any) -> MaskedTensor:
        return MaskedTensor(self.get_data() < data_of(other), self.get_mask())

    @property
    def layout(self) -> Any:
        """The layout of the data."""
        return self._masked_data.layout

    @property
    def is_sparse(self) -> Any:
        """Whether the layout is torch.sparse_coo or torch.sparse_csr."""
        return self.layout in SPARSE

    def is_sparse_coo(self) -> bool:
        """Whether the layout is torch.sparse_coo."""
        return self.layout is torch.sparse_coo

    def is_sparse_csr(self) -> bool:
        """Whether the layout is torch.sparse_csr."""
        return self.layout is torch.sparse_csr

    @classmethod
    def unary(cls, fn: Callable[[Tensor], Tensor], data: Tensor, mask: Tensor) -> MaskedTensor:
        """fn(data) under `mask`."""
        return MaskedTensor(fn(data), mask)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Reductions, `where` and `contiguous` by their rules; what else, below autograd."""
        # Written with this class.
        rule = import_module("rushlight.masked.maskedtensor.rules").function_rule(func)
        if rule is not None:
            return rule(*args, **(kwargs or {}))
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        return super().__torch_function__(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What an op of torch.ops.aten does to data and mask."""
        rule = import_module("rushlight.masked.maskedtensor.rules").op_rule(func)
        if rule is not None:
            return rule(func, *args, **(kwargs or {}))
        warn(_MISSING.format(func.overloadpacket.__name__))
        return NotImplemented


def _all_there(data: Tensor) -> MaskedTensor:
    return MaskedTensor(data, torch.ones_like(data, dtype=torch.bool))


def _shown(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _table(data: Tensor, mask: Tensor) -> str:
    if data.dim() > 1:
        rows = [_indented(_table(*row)) for row in zip(data, mask, strict=True)]
        return "[\n" + ",\n".join(rows) + "\n]"
    there = mask.tolist()
    shown = [_shown(value) for value in data.tolist()]
    width = max(len(text) if counts else 8 for text, counts in zip(shown, there, strict=True))
    return "[" + ", ".join(t if m else "--".rjust(width) for t, m in zip(shown, there, strict=True)) + "]"
