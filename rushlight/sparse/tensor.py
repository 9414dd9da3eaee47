"""Sparse tensors: a subclass of Tensor that holds index tensors and a tensor of values.

COO holds (indices, values), CSR and BSR (crow_indices, col_indices, values), CSC and BSC (ccol_indices,
row_indices, values): numbers, blocks, or dense tensors. Its `_array` is one zero seen as the whole shape, so
that what asks for shape or dtype needs nothing of its own; every op comes by `__torch_function__` to a
function of ops.py of the same name. Values are an ordinary tensor: gradients flow through it.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core.errors import warn_once
from rushlight._engine.dispatch.arguments import spread_ints
from rushlight._engine.dispatch.overrides import of_rows, unseen
from rushlight._engine.dispatch.runners.meta import refuse_devices
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.copying import check_leaf
from rushlight._engine.tensors.geometry import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from rushlight._engine.tensors.gradient import check_grad
from rushlight._engine.tensors.printing import _add_suffixes, format_array
from rushlight._engine.tensors.tensor import Tensor

OPS: dict[str, Callable[..., Any]] = {}  # by name; ops.py fills it
_NUMPYS = {"axis": "dim", "keepdims": "keepdim"}  # what NumPy calls arguments, which all ops take
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
_OWN = ("parts", "coalesced", "_layout", "_grad")  # attributes that copies get in their own way
_COMING = threading.RLock()  # while what has come to a tensor's values is added to its gradient
LEGACY = {layout: layout.name.title().replace("_", "").replace("Coo", "") for layout in PARTS}


def _spread(name: str, args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """A call's arguments, positional ones first and defaults at their end left out."""
    row = ROWS.get(name)
    if row is None:
        return list(args), kwargs
    positional = [p for p in row.params if not p.keyword_only]
    args = spread_ints(row, positional, tuple(args))
    given = {**dict(zip((p.name for p in row.params), args, strict=False)), **kwargs}
    given = {p.name: given[p.name] for p in row.params if given.get(p.name, p.default) is not p.default}
    count = max((i + 1 for i, p in enumerate(positional) if p.name in given), default=0)
    return [given.pop(p.name, p.default) for p in positional[:count]], given


def _backend(values: list[Any]) -> str:
    """What PyTorch calls the backend of the first sparse argument."""
    held = next((v for v in values if isinstance(v, SparseTensor)), None)
    where = "CUDA" if held is not None and held.is_cuda else "CPU"
    return f"Sparse{where}" if held is None or held.is_sparse else f"SparseCsr{where}"


def _write(out: Tensor, result: Tensor) -> Tensor:
    """What an op gives, in the tensor that it is to be written into, in that one's dtype."""
    if not torch.can_cast(result.dtype, out.dtype):
        raise RuntimeError(
            f"result type {result.dtype.legacy} can't be cast to the desired output type {out.dtype.legacy}"
        )
    if isinstance(out, SparseTensor) and isinstance(result, SparseTensor):
        found: Any = result if result.dtype is out.dtype else result.to(out.dtype)
        return out._become(found)
    if isinstance(out, SparseTensor) or isinstance(result, SparseTensor):
        raise RuntimeError(
            f"a result of layout {result.layout} cannot be written into a tensor of layout {out.layout}"
        )
    return out.resize_(result.shape).copy_(result)


_told: list[str] = []  # the layout at which PyTorch's warning of all compressed ones has been given


def make(parts: tuple[Tensor, ...], size: Any, coalesced: bool = False, layout: Any = None) -> SparseTensor:
    """A sparse tensor around what it holds. layout: COO or CSR by default, by the number of parts."""
    if len(parts) == 3 and not _told:
        kind = str(layout or sparse_csr).rpartition("_")[2].upper()
        _told.append(kind)
        warn_once(
            f"Sparse {kind} tensor support is in beta state. If you miss a functionality in the sparse "
            "tensor support, please submit a feature request to https://github.com/pytorch/pytorch/issues."
        )
    made: SparseTensor = object.__new__(SparseTensor)
    made._kind, made._grad_node, made._output_nr, made._storage = parts[-1]._kind, None, 0, None
    made._array = np.broadcast_to(np.zeros((), made._kind.np), tuple(map(int, size)))
    made.__dict__.update(
        parts=parts,
        coalesced=coalesced or len(parts) == 3,
        _layout=layout or (sparse_coo, sparse_csr)[len(parts) - 2],
    )
    return made


def _reader(name: str, doc: str) -> Callable[[SparseTensor], Tensor]:
    def read(self: SparseTensor) -> Tensor:
        return self._part(name, name)

    read.__name__, read.__doc__ = name, doc
    return read


class SparseTensor(Tensor):
    """Made by sparse_coo_tensor, sparse_csr_tensor ..., to_sparse(), to_sparse_csr() ... and gradients."""

    __slots__ = ()
    _prints_itself = True
    parts: tuple[Tensor, ...]
    coalesced: bool
    _layout: Any
    _seen_of: SparseTensor | None = None  # what this is another view of

    @classmethod
    @unseen
    @of_rows
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__
        if name in ("__get__", "__set__"):  # an attribute, which a mode or another class has been asked for
            return super().__torch_function__(func, types, args, kwargs)
        given = {_NUMPYS.get(key, key): value for key, value in (kwargs or {}).items()}
        out = given.pop("out", None)
        values, options = _spread(name, args, given)
        found = OPS.get(name)
        written = OPS.get(name[:-1]) if found is None and name.endswith("_") else None
        if written is not None:
            if not getattr(values[0], "coalesced", True) and written.__name__ == "on_coalesced":
                raise RuntimeError(f"{name} requires coalesced input")
            return _write(values[0], written(*values, **options))
        if name in ("zeros", "empty") and isinstance(out, SparseTensor):
            nothing: Any = torch.zeros(values[0], dtype=out.dtype, layout=out.layout, device=out.device)
            return out._become(nothing)
        if found is None:
            raise NotImplementedError(
                f"Could not run 'aten::{name}' with arguments from the '{_backend(values)}' "
                "backend: it is not written for sparse tensors; use .to_dense() first"
            )
        if name != "copy_":
            refuse_devices([v for v in values if isinstance(v, Tensor)])
        result = found(*values, **options)
        return result if out is None else _write(out, result)

    # --- what it is made of ---------------------------------------------------------------------

    @property
    def layout(self) -> Any:
        """torch.sparse_coo, sparse_csr, sparse_csc, sparse_bsr or sparse_bsc."""
        return self._layout

    def _is_view(self) -> bool:
        return self._seen_of is not None

    @property
    def _base(self) -> SparseTensor | None:
        return self._seen_of

    @property
    def is_sparse(self) -> bool:
        """Whether the layout is sparse_coo."""
        return len(self.parts) == 2

    @property
    def is_sparse_csr(self) -> bool:
        """Whether the layout is sparse_csr."""
        return self._layout is sparse_csr

    def type(self, dtype: Any = None, non_blocking: bool = False, **more: Any) -> Any:
        """The name of its class by layout and dtype; or the tensor in the dtype of such a name or class."""
        if dtype is None:
            return f"torch.{'cuda.' * self.is_cuda}sparse.{self.dtype.legacy}Tensor"
        if isinstance(dtype, str) and dtype.startswith("torch.sparse."):
            dtype = getattr(torch.sparse, dtype.rpartition(".")[2])
        return self.to(dtype if isinstance(dtype, torch.dtype) else dtype.dtype)

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
        return self.parts[-1].detach()  # the memory alone: values() has gradients

    crow_indices = _reader("crow_indices", "Where each row's values or blocks begin, and the last ones end.")
    col_indices = _reader("col_indices", "The columns of the values or blocks of CSR and BSR.")
    ccol_indices = _reader("ccol_indices", "Where each column's values or blocks begin, and the last end.")
    row_indices = _reader("row_indices", "The rows of the values or blocks of CSC and BSC.")

    def _dimI(self) -> int:
        return self.sparse_dim()

    def _dimV(self) -> int:
        return self.dense_dim()

    def _to_dense(self, dtype: Any = None, masked_grad: bool | None = None) -> Tensor:
        return self.to_dense(dtype, masked_grad=masked_grad)

    def _nnz(self) -> int:
        return int(self.parts[-1].shape[self.batch_dim()])

    def item(self) -> Any:
        """The one element, 0 where it is not stored, as a Python number; RuntimeError for several or none."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self.parts[-1].sum(dtype=self.dtype).item()

    def sparse_dim(self) -> int:
        """How many dims the indices count."""
        return int(self.parts[0].shape[0]) if len(self.parts) == 2 else 2

    def dense_dim(self) -> int:
        """How many dims each value has."""
        if len(self.parts) == 2:
            return self.parts[1].ndim - 1
        return self.parts[-1].ndim - self.batch_dim() - 1 - 2 * (self._layout in BLOCKS)

    def batch_dim(self) -> int:
        """How many dims of a compressed tensor count its matrices."""
        return self.parts[0].ndim - 1 if len(self.parts) == 3 else 0

    def is_coalesced(self) -> bool:
        """Whether indices are in order and differ."""
        self._part("is_coalesced", "indices")
        return self.coalesced

    # --- its place in the graph: that of its values -----------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether its values do."""
        return self.parts[-1].requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.parts[-1].requires_grad = value

    @property
    def grad_fn(self) -> Any:
        """The node of its values."""
        return self.parts[-1].grad_fn

    @property
    def is_leaf(self) -> Any:
        """Whether its values are a leaf."""
        return self.parts[-1].is_leaf

    @property
    def grad(self) -> Any:
        """The gradient: what was assigned, and what has come since at the places of the values, each once, as
        elements that add up have the same.
        """
        with _COMING:
            found, held = self.parts[-1].grad, self.__dict__.get("_grad")
            if found is not None:
                self.parts[-1].grad = None
                come = self._gradient(found)
                if held is None or held.requires_grad or come.requires_grad:
                    held = come if held is None else held + come
                else:
                    held += come  # in its memory, as those of other tensors
                self.__dict__["_grad"] = held
        return held

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            check_grad(self, value)
            if value.layout is not self.layout:
                raise RuntimeError(
                    "attempting to assign a gradient to a tensor that has data of a different type: expected "
                    f"the layout {self.layout}, got {value.layout}"
                )
        with _COMING:
            self.parts[-1].grad = None
            self.__dict__["_grad"] = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def _gradient(self, of_values: Tensor) -> Tensor:
        """The gradient of the tensor, from that of its values."""
        grad = self.map(lambda _: of_values)
        if self.layout is not sparse_coo or self.is_coalesced():
            return grad
        # layouts are made of this class
        from rushlight.sparse.layouts import once

        return once(grad)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Turn the tracking of the values on or off."""
        self.parts[-1].requires_grad_(requires_grad)
        return self

    def detach(self) -> SparseTensor:
        """The same values outside the graph."""
        return self.map(Tensor.detach)

    @property
    def data(self) -> Tensor:
        """The same values outside the graph, with their own version counter; what is assigned becomes this
        tensor's parts.
        """
        return self.map(attrgetter("data"))

    @data.setter
    def data(self, value: Any) -> None:
        self._become(value)

    def map(self, f: Callable[[Tensor], Tensor]) -> SparseTensor:
        """The same places with f of the values."""
        return make((*self.parts[:-1], f(self.parts[-1])), self.shape, self.coalesced, self._layout)

    def parts_moved(self, move: Callable[[Tensor, Any], Tensor], dtype: Any) -> SparseTensor:
        """On another device: move(part, dtype) of all that it holds, None for a part that keeps its dtype."""
        places = tuple(move(part, None) for part in self.parts[:-1])
        return make((*places, move(self.parts[-1], dtype)), self.shape, self.coalesced, self._layout)

    # --- writes -----------------------------------------------------------------------------------

    def _become(self, other: Any) -> SparseTensor:
        self.__dict__.update(parts=other.parts, coalesced=other.coalesced, _layout=other._layout)
        self._kind, self._array = other._kind, other._array
        return self

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        self.coalesced = coalesced
        return self

    def _at_size(self, size: Any, sparse_dim: int, dense_dim: int, keep: bool) -> SparseTensor:
        held = self.parts[-1]
        keep = keep and self._nnz() > 0
        if keep:
            self._check_resize(size, sparse_dim, dense_dim)
        if len(size) != sparse_dim + dense_dim:
            raise RuntimeError(
                f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but "
                f"got {len(size)}"
            )
        if keep:
            # Values lie in the new memory as in the old one, one after the other.
            grown = held.new_zeros([held.shape[0], *size[sparse_dim:]])
            grown.view(-1)[: held.numel()] = held.detach().reshape(-1)
            return self._become(make((self.parts[0], grown), size, self.coalesced))
        return self._become(
            make(
                (self.parts[0].new_zeros((sparse_dim, 0)), held.new_zeros([0, *size[sparse_dim:]])),
                size,
                True,
            )
        )

    def _check_resize(self, size: Any, sparse_dim: int, dense_dim: int) -> None:
        """RuntimeError for another number of dims, or fewer elements along one."""
        dims = (("sparse", self.sparse_dim(), sparse_dim), ("dense", self.dense_dim(), dense_dim))
        for kind, old, new in dims:
            if old != new:
                raise RuntimeError(
                    f"changing the number of {kind} dimensions (from {old} to {new}) on a non-empty sparse "
                    "tensor is not supported"
                )
        for kind, part in (("sparse", slice(sparse_dim)), ("dense", slice(sparse_dim, None))):
            had, wanted = list(self.shape[part]), list(size[part])
            if any(new < old for new, old in zip(wanted, had, strict=False)):
                raise RuntimeError(
                    f"shrinking the size of {kind} dimensions (from {had} to {wanted}) on a non-empty "
                    "sparse tensor is not supported"
                )

    def new(self, *args: Any, **kwargs: Any) -> Tensor:
        """Tensor.new(*sizes) or new(indices, values, size) of COO, in this tensor's dtype."""
        if not self.is_sparse:
            raise RuntimeError(
                f"new() makes no {LEGACY[self._layout]} tensors; use torch.sparse_csr_tensor()"
            )
        if len(args) > 1 and isinstance(args[0], Tensor):
            return torch.sparse_coo_tensor(*args, dtype=self.dtype, **kwargs)
        given = args[0] if len(args) == 1 and isinstance(args[0], torch.Size) else args
        if not all(isinstance(n, int) for n in given):
            raise TypeError(
                "SparseTensor.new(...) only accepts sizes, or indices and values.  Please use "
                "torch.sparse_coo_tensor() or convert a dense tensor by to_sparse()"
            )
        options = {"device": self.device, **kwargs}
        return torch.zeros(given or (0,), dtype=self.dtype, layout=sparse_coo, **options)

    def zero_(self) -> SparseTensor:
        """Drop all values of COO; those of a compressed layout become 0."""
        if self.is_sparse:
            zeros: Any = torch.zeros_like(self)
            return self._become(zeros)
        return self._become(self.map(torch.zeros_like))

    def copy_(self, other: Any, non_blocking: bool = False) -> Any:
        """Take over what another sparse tensor of the same layout holds."""
        return OPS["copy_"](self, other, non_blocking)

    def fill_(self, value: Any) -> Any:
        """Set all numbers of a compressed tensor that are specified."""
        return _write(self, OPS["fill"](self, value))

    def resize_(self, *size: Any, memory_format: Any = None) -> Any:
        """Another size, of CSR; values stay as many as fit."""
        return OPS["resize_"](
            self, list(size[0]) if len(size) == 1 and not isinstance(size[0], int) else list(size)
        )

    def resize_as_(self, the_template: Any, *, memory_format: Any = None) -> Any:
        """The shape of another sparse tensor."""
        return OPS["resize_as_sparse_"](self, the_template)

    def t_(self) -> Any:
        """Rows and columns swapped, of a COO matrix."""
        return self._become(OPS["t"](self))

    def transpose_(self, dim0: int, dim1: int) -> Any:
        """Two sparse dims swapped."""
        return self._become(OPS["transpose"](self, dim0, dim1))

    def sparse_resize_(self, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
        """Another size, as far as what is held fits into it."""
        return self._at_size(tuple(size), sparse_dim, dense_dim, True)

    def sparse_resize_and_clear_(self, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
        """Another size, with nothing in it."""
        return self._at_size(tuple(size), sparse_dim, dense_dim, False)

    # --- as Python and NumPy see it -----------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: there is no dense memory."""
        raise TypeError(
            f"can't convert {LEGACY[self._layout]} layout tensor to numpy. Use Tensor.to_dense() first."
        )

    def data_ptr(self) -> int:
        """Refused: there is no dense memory."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    tolist = data_ptr

    def storage(self) -> Any:
        """Refused: there is no dense memory."""
        kind = "SparseTensorImpl" if self.is_sparse else "SparseCsrTensorImpl"
        raise NotImplementedError(f"Cannot access storage of {kind}")

    untyped_storage = _typed_storage = storage

    def stride(self, dim: Any = None) -> Any:
        """Zeros, of COO; RuntimeError of compressed layouts."""
        if self.is_sparse:
            return (0,) * self.ndim if dim is None else 0
        raise RuntimeError(f"Sparse {self._layout.name[7:].upper()} tensors do not have strides")

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """False of COO; RuntimeError of compressed layouts."""
        if not self.is_sparse:
            raise RuntimeError(f"Sparse {self._layout.name[7:].upper()} tensors do not have is_contiguous")
        return False

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one size of it."""
        return self.shape if dim is None else self.shape[dim]

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("Cannot assign to a sparse tensor")

    def __iter__(self) -> Any:
        return iter(torch.unbind(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        # few programs pickle tensors
        from rushlight._engine.serialization.rebuild import _rebuild_sparse_tensor

        known = (self.coalesced,) if self.is_sparse else ()
        built = _rebuild_sparse_tensor, (self.layout, (*self.parts, self.shape, *known))
        own = self._attributes()
        return (*built, own) if own else built

    def _attributes(self) -> dict[str, Any]:
        """The attributes that programs have given it, which copies get."""
        return {name: value for name, value in vars(self).items() if name not in _OWN}

    def __deepcopy__(self, memo: Any) -> SparseTensor:
        check_leaf(self)
        made: SparseTensor = self.map(lambda v: v.detach().clone().requires_grad_(v.requires_grad))
        memo[id(self)] = made
        grad = self.grad
        if grad is not None:
            made.grad = copy.deepcopy(grad, memo)
        made.__dict__.update(copy.deepcopy(self._attributes(), memo))
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        texts = []
        for name, part in zip(PARTS[self._layout], self.parts, strict=True):
            prefix = f"{name}=tensor("
            size = [f"size={tuple(part.shape)}"] if not part.numel() else []
            texts.append(_add_suffixes(prefix + format_array(part._array, 7 + len(prefix)), size, 7))
        text = "tensor(" + (",\n" + " " * 7).join(texts)
        suffixes = [f"device='{self.device}'"] if self.is_cuda else []
        suffixes += [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
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
