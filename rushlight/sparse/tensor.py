"""Sparse tensors: a subclass of Tensor that holds index tensors and a tensor of values.

COO holds (indices, values), CSR and BSR (crow_indices, col_indices, values), CSC and BSC (ccol_indices,
row_indices, values): numbers, blocks, or dense tensors. Its `_a` is one zero seen as the whole shape, so that
what asks for shape or dtype needs nothing of its own; every op comes by `__torch_function__` to a function of
ops.py of the same name. Values are an ordinary tensor: gradients flow through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.geometry import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from rushlight._engine.tensors.printing import _add_suffixes, format_array
from rushlight._engine.tensors.tensor import Tensor

OPS: dict[str, Callable[..., Any]] = {}  # by name; ops.py fills it
COLUMNS, BLOCKS = (sparse_csc, sparse_bsc), (sparse_bsr, sparse_bsc)  # compressed by columns; in blocks
_ROWWISE, _COLUMNWISE = (("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values"))
PARTS = {
    sparse_coo: ("indices", "values"),
    sparse_csr: _ROWWISE,
    sparse_csc: _COLUMNWISE,
    sparse_bsr: _ROWWISE,
    sparse_bsc: _COLUMNWISE,
}
_, *COMPRESSED = PARTS
LEGACY = {layout: layout.name.title().replace("_", "").replace("Coo", "") for layout in PARTS}


def _spread(name: str, args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """A call's arguments, positional ones first and defaults left out."""
    row = ROWS.get(name)
    if row is None:
        return list(args), kwargs
    given = {**dict(zip((p.name for p in row.params), args, strict=False)), **kwargs}
    given = {p.name: given[p.name] for p in row.params if given.get(p.name, p.default) is not p.default}
    return ([given.pop(p.name) for p in row.params if p.name in given and not p.keyword_only], given)


def make(parts: tuple[Tensor, ...], size: Any, coalesced: bool = False, layout: Any = None) -> "SparseTensor":
    """A sparse tensor around what it holds. layout: COO or CSR by default, by the number of parts."""
    made: SparseTensor = object.__new__(SparseTensor)
    made._k, made._g, made._i, made._s = parts[-1]._k, None, 0, None
    made._a = np.broadcast_to(np.zeros((), made._k.np), tuple(size))
    made.__dict__.update(
        parts=parts,
        coalesced=coalesced or len(parts) == 3,
        _layout=layout or (sparse_coo, sparse_csr)[len(parts) - 2],
    )
    return made


def _reader(name: str, doc: str) -> Callable[["SparseTensor"], Tensor]:
    def read(self: "SparseTensor") -> Tensor:
        return self._part(name, name)

    read.__name__, read.__doc__ = name, doc
    return read


class SparseTensor(Tensor):
    """Made by sparse_coo_tensor, sparse_csr_tensor ..., to_sparse(), to_sparse_csr() ... and gradients."""

    __slots__ = ()
    parts: tuple[Tensor, ...]
    coalesced: bool
    _layout: Any

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__
        found = OPS.get(name)
        if found is None:
            raise NotImplementedError(
                f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' "
                "backend: it is not written for sparse tensors; use .to_dense() first"
            )
        values, options = _spread(name, args, kwargs or {})
        return found(*values, **options)

    # --- what it is made of ---------------------------------------------------------------------

    layout = property(lambda self: self._layout)
    is_sparse = property(lambda self: len(self.parts) == 2)  # type: ignore[assignment]
    is_sparse_csr = property(lambda self: self._layout is sparse_csr)  # type: ignore[assignment]

    def _part(self, name: str, of: str) -> Tensor:
        if of not in PARTS[self._layout]:
            side = "row" if of in _ROWWISE else "column"
            kind = "coordinate" if of == "indices" else f"{side} compressed"
            raise RuntimeError(f"{name} expected sparse {kind} tensor layout but got {LEGACY[self._layout]}")
        return self.parts[PARTS[self._layout].index(of)]

    def indices(self) -> Tensor:
        """The places (sparse dims, nnz) of a coalesced COO tensor's values."""
        found = self._part("indices", "indices")
        if not self.coalesced:
            raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
        return found

    def values(self) -> Tensor:
        """The values (nnz, *dense dims) of a coalesced tensor."""
        if not self.coalesced:
            raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
        return self.parts[-1]

    def _indices(self) -> Tensor:
        return self._part("_indices", "indices")

    def _values(self) -> Tensor:
        return self.parts[-1]

    crow_indices = _reader("crow_indices", "Where each row's values or blocks begin, and the last ones end.")
    col_indices = _reader("col_indices", "The columns of the values or blocks of CSR and BSR.")
    ccol_indices = _reader("ccol_indices", "Where each column's values or blocks begin, and the last end.")
    row_indices = _reader("row_indices", "The rows of the values or blocks of CSC and BSC.")

    def _nnz(self) -> int:
        return int(self.parts[-1].shape[0])

    def sparse_dim(self) -> int:
        """How many dims the indices count."""
        return int(self.parts[0].shape[0]) if len(self.parts) == 2 else 2

    def dense_dim(self) -> int:
        """How many dims each value has."""
        return self.ndim - self.sparse_dim()

    def is_coalesced(self) -> bool:
        """Whether indices are in order and differ."""
        self._part("is_coalesced", "indices")
        return self.coalesced

    # --- its place in the graph: that of its values -----------------------------------------------

    requires_grad = property(lambda self: self.parts[-1].requires_grad)  # type: ignore[assignment]
    grad_fn = property(lambda self: self.parts[-1].grad_fn)
    is_leaf = property(lambda self: self.parts[-1].is_leaf)

    @property
    def grad(self) -> Any:
        """The gradient of the values, at their places."""
        found = self.parts[-1].grad
        return None if found is None else self.map(lambda _: found)

    def requires_grad_(self, requires_grad: bool = True) -> "SparseTensor":
        """Turn the tracking of the values on or off."""
        self.parts[-1].requires_grad_(requires_grad)
        return self

    def detach(self) -> "SparseTensor":
        """The same values outside the graph."""
        return self.map(Tensor.detach)

    @property
    def data(self) -> "SparseTensor":
        """The same values outside the graph; what is assigned becomes this tensor's parts."""
        return self.detach()

    @data.setter
    def data(self, value: "SparseTensor") -> None:
        self._become(value)

    def map(self, f: Callable[[Tensor], Tensor]) -> "SparseTensor":
        """The same places with f of the values."""
        return make((*self.parts[:-1], f(self.parts[-1])), self.shape, self.coalesced, self._layout)

    # --- writes -----------------------------------------------------------------------------------

    def _become(self, other: "SparseTensor") -> "SparseTensor":
        self.__dict__.update(parts=other.parts, coalesced=other.coalesced, _layout=other._layout)
        return self

    def add_(self, other: Any, *, alpha: Any = 1) -> "SparseTensor":
        """Add a sparse tensor to this one."""
        return self._become(torch.add(self, other, alpha=alpha))

    def mul_(self, other: Any) -> "SparseTensor":
        """Multiply by a number or a tensor."""
        return self._become(torch.mul(self, other))

    def zero_(self) -> "SparseTensor":
        """Drop all values."""
        return self._become(torch.zeros_like(self))

    # --- as Python and NumPy see it -----------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: there is no dense memory."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def data_ptr(self) -> int:
        """Refused: there is no dense memory."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    tolist = data_ptr  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> Any:
        from rushlight._engine.serialization.rebuild import _rebuild_sparse_tensor

        known = (self.coalesced,) if self.is_sparse else ()
        return _rebuild_sparse_tensor, (self.layout, (*self.parts, self.shape, *known))

    def __deepcopy__(self, memo: Any) -> "SparseTensor":
        return self.map(lambda v: v.detach().clone().requires_grad_(v.requires_grad))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        texts = []
        for name, part in zip(PARTS[self._layout], self.parts, strict=True):
            prefix = f"{name}=tensor("
            size = [f"size={tuple(part.shape)}"] if not part.numel() else []
            texts.append(_add_suffixes(prefix + format_array(part._a, 7 + len(prefix)), size, 7))
        text = "tensor(" + (",\n" + " " * 7).join(texts)
        suffixes = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
        if self.dtype not in (torch.get_default_dtype(), torch.int64, torch.bool):
            suffixes.append(f"dtype={self.dtype!r}")
        suffixes.append(f"layout={self.layout!r}")
        if self.grad_fn is not None:
            suffixes.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            suffixes.append("requires_grad=True")
        if self.is_sparse:
            return text + ",\n" + " " * 7 + _add_suffixes(suffixes[0], suffixes[1:], 7)
        return _add_suffixes(text, suffixes, 7)

    __str__ = __repr__
