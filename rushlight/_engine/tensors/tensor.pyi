# Written by `python tools/stubs.py`.
"""The tensor: a strided view of a storage, with a dtype, a device and a place in autograd's graph.

Invariants: `_a` is the NumPy view that holds the data; `_k` its interned Kind; `_g` the autograd
node that made it (the AccumulateGrad node of a leaf that requires grad, None where no gradient is
tracked) and `_i` which of the node's results it is; `_s` its Storage, shared by all views, made
when first needed. Views of tracked tensors also have `_b`, their View. Lazy views have no `_a`
(lazy_views.py): what looks at memory and not at values reads `_m`. Methods that are ops come
from the table: the first look-up of a name binds it to the class.
"""
import numpy as np
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, type as _type
from collections.abc import Callable, Iterator, Sequence
from rushlight._engine.autograd.node import Node
from rushlight._engine.core import dtype as dt
from rushlight._engine.core.device import device as _device
from rushlight._engine.core.dtype import dtype as _dtype
from rushlight._engine.core.size import Size
from rushlight._engine.tensors.generator import Generator
from rushlight._engine.tensors.geometry import MemoryFormat, StorageLayout
from rushlight._engine.tensors.kind import Kind
from rushlight._engine.tensors.storages.storage import Storage
from rushlight.return_types import aminmax as _aminmax_result, cummax as _cummax_result, cummin as _cummin_result, frexp as _frexp_result, geqrf as _geqrf_result, histogram as _histogram_result, kthvalue as _kthvalue_result, max as _max_result, median as _median_result, min as _min_result, mode as _mode_result, nanmedian as _nanmedian_result, qr as _qr_result, slogdet as _slogdet_result, sort as _sort_result, svd as _svd_result, topk as _topk_result, triangular_solve as _triangular_solve_result
from rushlight.utils.hooks import RemovableHandle
from typing import Any, Literal, Self, overload

from rushlight._engine.tensors.storages.storage import storage as storage
from rushlight._engine.tensors.kind import kind as kind
BELOW: set[_type]
class LISTENING:
    """Stands among WRAPPED while somebody may listen below autograd."""

class TensorMeta(_type):
    """Finds Tensor.NAME in the op table when it is first asked for."""

    def __init__(cls, name: str, bases: tuple[_type, ...], own: dict[str, Any], **options: Any) -> None: ...
    def __getattr__(cls, name: str) -> Any: ...
WRAPPED: set[_type]
class _Unbound:
    """A method that nobody has asked for yet: the first look-up binds what the table has of this name."""

    def __init__(self, name: str) -> None: ...
    def __get__(self, t: Any, cls: _type) -> Any: ...
    name: Any
_lasting: list[_bool]
def _unfilled(self: Any, name: str) -> Any:
    """Attributes that a tensor has not, its array among them."""
def alias(t: Tensor, node: Any = None, number: _int = 0, cls: _type = ...) -> Tensor:
    """The same memory, read in the same way, at another place in the graph: result `number` of `node`."""
def expect_filled() -> None:
    """Whoever expected tensors whose `_a` is empty for a while has filled them all."""
def expect_unfilled(lasting: _bool = True) -> None:
    """From now on there are tensors whose `_a` is empty (lazy_views.py); lasting: until the end.

    Not before: a class with a `__getattr__` finds its instances' slots in many times the time.
    """
def lookup(namespace: str, name: str) -> Any:
    """The callable generated from a row, or None where the table has no such name."""
def wrap(array: Any, of: Kind | None = None) -> Tensor:
    """A fresh tensor around `array` (no copy), which nothing else must own."""
def wrap_view(array: np.ndarray[Any, Any], base: Tensor, of: Kind | None = None) -> Tensor:
    """A tensor around a view of `base`'s array: it shares the storage and its version."""
class Tensor(metaclass=TensorMeta):
    """A multi-dimensional array; make one with torch.tensor, torch.zeros, torch.from_numpy, ..."""

    _a: np.ndarray[Any, Any]
    _k: Kind
    _g: Any
    _i: _int
    _s: Storage | None
    _b: Any
    _grad: Any
    _hidden: Any
    _m: np.ndarray[Any, Any]
    _l: np.ndarray[Any, Any]
    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
    @property
    def T(self) -> Tensor:
        """The dims reversed; meant for matrices."""
    def __array__(self, dtype: _dtype | None = None, copy: _bool | None = None) -> np.ndarray[Any, Any]: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The array API standard's functions for this tensor."""
    __array_priority__: _int
    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: _bool = False) -> Any: ...
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> _complex: ...
    def __contains__(self, element: Any) -> _bool: ...
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor: ...
    def __delitem__(self, index: Any) -> None: ...
    def __dlpack__(self, *, stream: _int = -1, max_version: Any = None, dl_device: Any = None, copy: _bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __float__(self) -> _float: ...
    def __format__(self, spec: str) -> str: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __hash__(self) -> _int: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __len__(self) -> _int: ...
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def __rdiv__(self, other: Tensor) -> Any:
        """other / self under Python 2's name, which PyTorch has kept."""
    def __repr__(self) -> str: ...
    def __reversed__(self) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __setstate__(self, state: Any) -> None: ...
    def __str__(self) -> str: ...
    @classmethod
    def __torch_dispatch__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Tensor.__torch_dispatch__: run the op as if no class heard of it."""
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...
    @property
    def _base(self) -> Tensor | None: ...
    def _is_view(self) -> _bool: ...
    def _storage(self) -> Storage: ...
    @property
    def _version(self) -> _int: ...
    def as_subclass(self, cls: _type) -> Any:
        """A view of the whole tensor that is an instance of `cls`, a subclass of Tensor."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Any = None) -> None:
        """Add the gradients of this tensor to the leaves' `.grad`; a scalar needs no `gradient`."""
    @property
    def data(self) -> Tensor:
        """The same data with its own version counter, so that autograd does not see writes."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    @data.deleter
    def data(self) -> None: ...
    def data_ptr(self) -> _int:
        """The address of the first element; 0 for an empty tensor."""
    def detach(self) -> Tensor:
        """The same data outside the graph: it shares memory and version, and tracks nothing."""
    def detach_(self) -> Tensor:
        """Cut this tensor off from its graph, in place."""
    @property
    def device(self) -> _device:
        """Where the memory is."""
    def dim(self) -> _int:
        """The number of dims."""
    def dim_order(self, *, ambiguity_check: _bool = False) -> tuple[_int, ...]:
        """The dims from the outermost to the innermost in memory.

        ambiguity_check: False by default; True, or a list of memory formats of which exactly one must fit: a
        RuntimeError where dims of size 1 or of equal strides leave the order open.
        """
    @property
    def dtype(self) -> _dtype:
        """The element type."""
    def element_size(self) -> _int:
        """Bytes of one element."""
    def get_device(self) -> _int:
        """The number of the device; -1 for the CPU."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by backward(), or None."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for a leaf."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part, as a view."""
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def is_complex(self) -> _bool:
        """Whether the dtype is complex."""
    def is_conj(self) -> _bool:
        """Whether it is a view that is conjugated when it is read."""
    def is_contiguous(self, memory_format: MemoryFormat = ...) -> _bool:
        """Whether the elements lie in the order of `memory_format` without gaps."""
    @property
    def is_cpu(self) -> _bool:
        """Whether the memory is the CPU's."""
    @property
    def is_cuda(self) -> _bool:
        """Whether the memory is a CUDA device's."""
    def is_floating_point(self) -> _bool:
        """Whether the dtype is a floating-point one."""
    @property
    def is_hpu(self) -> Any: ...
    def is_inference(self) -> _bool:
        """Whether it was made in inference mode."""
    @property
    def is_ipu(self) -> Any: ...
    @property
    def is_leaf(self) -> _bool:
        """Whether no op made it (as far as autograd knows)."""
    @property
    def is_maia(self) -> Any: ...
    @property
    def is_meta(self) -> _bool:
        """Whether the tensor has a shape and no data."""
    @property
    def is_mkldnn(self) -> Any: ...
    @property
    def is_mps(self) -> Any: ...
    @property
    def is_mtia(self) -> Any: ...
    def is_neg(self) -> _bool:
        """Whether it is a view that is negated when it is read."""
    @property
    def is_nested(self) -> Any: ...
    def is_nonzero(self) -> _bool:
        """Whether the one element is not zero; RuntimeError for several or none."""
    def is_pinned(self, device: str | _int | _device | None = None) -> _bool:
        """Whether the memory is page-locked, for copies to and from CUDA devices."""
    @property
    def is_quantized(self) -> Any: ...
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether the shapes are equal."""
    def is_set_to(self, other: Tensor) -> _bool:
        """Whether both see the same memory in the same way."""
    def is_shared(self) -> _bool:
        """Whether other processes can see the memory, after share_memory_() or a way through a queue."""
    def is_signed(self) -> _bool:
        """Whether the dtype has negative numbers."""
    @property
    def is_sparse(self) -> Any: ...
    @property
    def is_sparse_csr(self) -> Any: ...
    @property
    def is_vulkan(self) -> Any: ...
    @property
    def is_xla(self) -> Any: ...
    @property
    def is_xpu(self) -> Any: ...
    def item(self) -> _int | _float | _bool:
        """The value of a tensor with one element, as a Python number."""
    @property
    def itemsize(self) -> _int:
        """Bytes of one element."""
    @property
    def layout(self) -> StorageLayout:
        """torch.strided."""
    @property
    def mH(self) -> Tensor:
        """The last two dims swapped and conjugated."""
    @property
    def mT(self) -> Tensor:
        """The last two dims swapped."""
    @property
    def nbytes(self) -> _int:
        """Bytes of all elements."""
    @property
    def ndim(self) -> _int:
        """The number of dims."""
    def ndimension(self) -> _int:
        """The number of dims."""
    def nelement(self) -> _int:
        """The number of elements."""
    def numel(self) -> _int:
        """The number of elements."""
    def numpy(self, *, force: _bool = False) -> np.ndarray[Any, Any]:
        """The NumPy array that shares this tensor's memory."""
    @property
    def output_nr(self) -> _int:
        """Which of grad_fn's results this is."""
    @property
    def real(self) -> Tensor:
        """The real part, as a view; a real tensor is returned as it is."""
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is known; a result replaces it."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` after backward() has added to this leaf's `.grad`."""
    @property
    def requires_grad(self) -> _bool:
        """Whether gradients flow into (or through) this tensor."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    @requires_grad.deleter
    def requires_grad(self) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Tensor:
        """Turn the tracking of a leaf on or off, in place."""
    def retain_grad(self) -> None:
        """Keep this non-leaf tensor's gradient in `.grad` during backward()."""
    @property
    def retains_grad(self) -> _bool:
        """Whether a non-leaf tensor keeps its gradient."""
    @property
    def shape(self) -> Size:
        """The sizes of all dims."""
    @overload
    def size(self, dim: None = None) -> Size:
        """All sizes, or the size of one dim."""
    @overload
    def size(self, dim: _int) -> _int:
        """All sizes, or the size of one dim."""
    def storage(self) -> Any:
        """The storage with this tensor's dtype; PyTorch advises untyped_storage()."""
    def storage_offset(self) -> _int:
        """Elements from the start of the storage to the first element."""
    def storage_type(self) -> Any:
        """The class of this dtype's storages: torch.FloatStorage, ..."""
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]:
        """Strides in elements: all, or of one dim."""
    @overload
    def stride(self, dim: _int) -> _int:
        """Strides in elements: all, or of one dim."""
    def to_device(self, device: str | _int | _device, /, *, stream: Any = None) -> Any:
        """The array API standard's name of `to(device)`."""
    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; of a 0-d tensor, the number."""
    def untyped_storage(self) -> Any:
        """The storage: the memory shared by all views of this tensor."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __and__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __eq__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __floordiv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ge__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __gt__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __iadd__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __iand__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ifloordiv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ilshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __imatmul__(self, other: Tensor, /) -> Tensor: ...
    def __imod__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __imul__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ipow__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __irshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __isub__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __itruediv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ixor__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __le__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __lshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __lt__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __matmul__(self, other: Tensor, /) -> Tensor: ...
    def __mod__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __mul__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ne__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __radd__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rand__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rfloordiv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rlshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rmatmul__(self, other: Tensor, /) -> Tensor: ...
    def __rmod__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rmul__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __ror__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rpow__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rrshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rshift__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rsub__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __rxor__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __sub__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __truediv__(self, other: Tensor | _complex, /) -> Tensor: ...
    def __xor__(self, other: Tensor | _complex, /) -> Tensor: ...
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Replace each element by callable(element), Python numbers both, in place: any dtype and shape; slow.

        RuntimeError for a tensor that requires grad, TypeError for a result that is no number.
        """
    def bfloat16(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.bfloat16)."""
    def bool(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.bool)."""
    def byte(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.uint8)."""
    def cdouble(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.complex128)."""
    def cfloat(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.complex64)."""
    def char(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.int8)."""
    def contiguous(self, memory_format: MemoryFormat = ...) -> Tensor:
        """This tensor if its elements lie in that order, else a copy."""
    def copy_(self, src: Tensor = ..., non_blocking: _bool = False, *, other: Tensor = ...) -> Tensor:
        """Write src (PyTorch's keyword: other), broadcast and converted, into this tensor; it may be a number."""
    def cpu(self, memory_format: MemoryFormat = ...) -> Tensor:
        """In the CPU's memory."""
    def cuda(self, device: str | _int | _device | None = None, non_blocking: _bool = False, memory_format: MemoryFormat = ...) -> Tensor:
        """In the memory of a CUDA device: of the current one, or of that with a number; where it is if it is
        there.
        """
    def double(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.float64)."""
    def eig(self, *args: Any, **kwargs: Any) -> Any: ...
    def fill_(self, value: Any) -> Tensor:
        """Write one number (or 0-d tensor) everywhere."""
    def float(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.float32)."""
    def half(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.float16)."""
    def int(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.int32)."""
    def long(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.int64)."""
    def lstsq(self, *args: Any, **kwargs: Any) -> Any: ...
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
        """Replace each element a by callable(a, b, c), from `x` and `y` as in map_."""
    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Replace each element a by callable(a, b), b from `other`: of the same dtype, expanded to this shape."""
    def new(self, *args: Any, **kwargs: Any) -> Tensor:
        """Tensor.new(...): like torch.Tensor(...), in this tensor's dtype."""
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: str | _int | _device | None = None, requires_grad: _bool = False, layout: StorageLayout | None = None, pin_memory: _bool = False) -> Tensor:
        """A new leaf with a copy of data, in this tensor's dtype and on its device."""
    def pin_memory(self, device: str | _int | _device | None = None) -> Tensor:
        """A copy in page-locked memory, which copies to and from CUDA devices need not wait for; itself if it
        is.
        """
    def record_stream(self, s: Sequence[_int] | _int) -> None:
        """Keep a CUDA tensor's memory from being handed out again before a stream is through with its present
        work.
        """
    def resize_(self, *sizes: _int | Sequence[_int], memory_format: MemoryFormat = ...) -> Tensor:
        """Give this tensor another shape; its storage grows where it must, old bytes are kept."""
    def resize_as_(self, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Give this tensor another's shape."""
    def set_(self, source: Any = None, storage_offset: _int = 0, size: Sequence[_int] | _int | None = None, stride: _int | Sequence[_int] | None = None) -> Tensor:
        """Make this tensor see another tensor's (or a storage's) memory."""
    def share_memory_(self) -> Tensor:
        """Move this tensor's storage, and all tensors that see it, into memory that other processes can see.

        A forked process, or one that the tensor is sent to by torch.multiprocessing, reads and writes it.
        """
    def short(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """to(torch.int16)."""
    def solve(self, *args: Any, **kwargs: Any) -> Any: ...
    def symeig(self, *args: Any, **kwargs: Any) -> Any: ...
    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Converted to a dtype, a device, or another tensor's; itself where nothing changes."""
    def type(self, dtype: _dtype | None = None, non_blocking: _bool = False, **kwargs: Any) -> Any:
        """The legacy type's name; with an argument, a conversion."""
    def view(self, *given: _int | Sequence[_int] | dt.dtype, size: _int | Sequence[_int] | None = None, dtype: dt.dtype | None = None) -> Tensor:
        """The same elements in another shape, or the same bytes as another dtype."""
    def zero_(self) -> Tensor:
        """Write zeros everywhere."""
    def ccol_indices(self) -> Tensor: ...
    def coalesce(t) -> Tensor:
        """The same tensor with places in order, each once."""
    def col_indices(self) -> Tensor: ...
    def crow_indices(self) -> Tensor: ...
    def dense_dim(self) -> _int:
        """How many dims lie in values: all, of a dense tensor."""
    def hspmm(mat1, mat2: Any) -> Tensor:
        """torch.hspmm: mat1 @ mat2, the rows that mat1 has anything in as the values of a hybrid tensor."""
    def indices(self) -> Tensor: ...
    def is_coalesced(self) -> _bool: ...
    def resize_as_sparse_(t, template: Any) -> Tensor:
        """The shape of another sparse tensor; of a compressed one its places, too, and memory for its values."""
    def row_indices(self) -> Tensor: ...
    def smm(a, b: Any) -> Any:
        """The matrix product; of two sparse matrices, sparse."""
    def sparse_dim(self) -> _int:
        """How many dims the indices count: none, of a dense tensor."""
    def sparse_mask(t, mask: Tensor) -> Tensor:
        """A tensor's numbers at the places that mask has."""
    def sspaddmm(input, mat1: Any, mat2: Any, *, beta: _int = 1, alpha: Tensor | _float = 1) -> Tensor:
        """torch.sspaddmm: beta * input + alpha * (mat1 @ mat2) of sparse input and mat1, sparse."""
    def to_dense(t, dtype: _dtype | None = None, masked_grad: Any = None) -> Tensor:
        """A dense tensor of the same numbers.

        masked_grad: taken as True, that is, what is not specified has no gradient.
        """
    def to_sparse(t, sparse_dim: Any = None, *, layout: StorageLayout | None = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
        """A dense tensor's nonzero values and their places, counted in the first sparse_dim dims; or a compressed
        layout, with the last dense_dim dims in the values.
        """
    def to_sparse_bsc(self, *args: Any, **options: Any) -> Tensor:
        """The same matrix as torch.sparse_bsc."""
    def to_sparse_bsr(self, *args: Any, **options: Any) -> Tensor:
        """The same matrix as torch.sparse_bsr."""
    def to_sparse_coo(self) -> Tensor:
        """The same tensor as COO."""
    def to_sparse_csc(self, *args: Any, **options: Any) -> Tensor:
        """The same matrix as torch.sparse_csc."""
    def to_sparse_csr(self, *args: Any, **options: Any) -> Tensor:
        """The same matrix as torch.sparse_csr."""
    def values(self) -> Tensor: ...
    def _conj(input) -> Tensor:
        """The complex conjugate, as a view that is conjugated when it is read; a real tensor itself."""
    def _conj_physical(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The complex conjugate, written out."""
    def _conj_physical_(input) -> Tensor:
        """In-place version of _conj_physical."""
    def _neg_view(input) -> Tensor:
        """The negative, as a view that is negated when it is read."""
    def abs(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The absolute value (of a complex number, its modulus)."""
    def abs_(input) -> Tensor:
        """In-place version of abs."""
    def absolute(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The absolute value (of a complex number, its modulus)."""
    def absolute_(input) -> Tensor:
        """In-place version of abs."""
    def acos(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc cosine."""
    def acos_(input) -> Tensor:
        """In-place version of acos."""
    def acosh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic cosine."""
    def acosh_(input) -> Tensor:
        """In-place version of acosh."""
    def add(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input + alpha * other."""
    def add_(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of add."""
    def addbmm(input, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """beta * input + alpha * the sum of batch1 @ batch2 over the batch."""
    def addbmm_(input, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addbmm."""
    def addcdiv(input, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input + value * tensor1 / tensor2."""
    def addcdiv_(input, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addcdiv."""
    def addcmul(input, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input + value * tensor1 * tensor2."""
    def addcmul_(input, tensor1: Tensor, tensor2: Tensor, *, value: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addcmul."""
    def addmm(input, mat1: Tensor, mat2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2)."""
    def addmm_(input, mat1: Tensor, mat2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addmm."""
    def addmv(input, mat: Tensor, vec: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """beta * input + alpha * (mat @ vec)."""
    def addmv_(input, mat: Tensor, vec: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addmv."""
    def addr(input, vec1: Tensor, vec2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """beta * input + alpha * the outer product of two vectors."""
    def addr_(input, vec1: Tensor, vec2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of addr."""
    def adjoint(input) -> Tensor:
        """The last two dims swapped and conjugated."""
    def all(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether all elements are nonzero."""
    def allclose(input, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether all elements are close."""
    def amax(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The largest element; nan if there is one."""
    def amin(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The smallest element; nan if there is one."""
    def aminmax(input, *, dim: _int | None = None, keepdim: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _aminmax_result:
        """(min, max) along dim, or over all elements."""
    def angle(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The angle of a complex number; of a real one 0 or pi (nan stays)."""
    def any(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether any element is nonzero."""
    def arccos(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc cosine."""
    def arccos_(input) -> Tensor:
        """In-place version of acos."""
    def arccosh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic cosine."""
    def arccosh_(input) -> Tensor:
        """In-place version of acosh."""
    def arcsin(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc sine."""
    def arcsin_(input) -> Tensor:
        """In-place version of asin."""
    def arcsinh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic sine."""
    def arcsinh_(input) -> Tensor:
        """In-place version of asinh."""
    def arctan(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc tangent."""
    def arctan2(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The angle of the point (other, input)."""
    def arctan2_(input, other: Tensor) -> Tensor:
        """In-place version of atan2."""
    def arctan_(input) -> Tensor:
        """In-place version of atan."""
    def arctanh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic tangent."""
    def arctanh_(input) -> Tensor:
        """In-place version of atanh."""
    def argmax(input, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The position of the largest element."""
    def argmin(input, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The position of the smallest element."""
    def argsort(input, dim: _int = -1, descending: _bool = False, *, stable: _bool = False) -> Tensor:
        """The positions that sort the elements along dim."""
    def argwhere(input) -> Tensor:
        """The positions of the nonzero elements, one row each."""
    def as_strided(input, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A view with given sizes, strides and offset of the whole storage."""
    def as_strided_(input, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """In-place version of as_strided."""
    def as_strided_scatter(input, src: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """input with the elements of its storage that as_strided shows replaced by src."""
    def asin(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc sine."""
    def asin_(input) -> Tensor:
        """In-place version of asin."""
    def asinh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic sine."""
    def asinh_(input) -> Tensor:
        """In-place version of asinh."""
    def atan(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arc tangent."""
    def atan2(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The angle of the point (other, input)."""
    def atan2_(input, other: Tensor) -> Tensor:
        """In-place version of atan2."""
    def atan_(input) -> Tensor:
        """In-place version of atan."""
    def atanh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse hyperbolic tangent."""
    def atanh_(input) -> Tensor:
        """In-place version of atanh."""
    def baddbmm(input, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """beta * input + alpha * (batch1 @ batch2)."""
    def baddbmm_(input, batch1: Tensor, batch2: Tensor, *, beta: _int | _float | _complex = 1, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of baddbmm."""
    def bernoulli(input, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Ones with the probabilities in input (or all with probability p), else zeros."""
    def bernoulli_(input, p: Tensor | _int | _float | _complex = 0.5, *, generator: Generator | None = None) -> Tensor:
        """In-place version of bernoulli_fill."""
    def bincount(input, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each of 0, 1, 2, ... occurs in a vector; with weights, the sum of theirs."""
    def bitwise_and(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The bits set in both."""
    def bitwise_and_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of bitwise_and."""
    def bitwise_left_shift(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input * 2 ** other."""
    def bitwise_left_shift_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of bitwise_left_shift."""
    def bitwise_not(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The bits flipped; of a bool, its opposite."""
    def bitwise_not_(input) -> Tensor:
        """In-place version of bitwise_not."""
    def bitwise_or(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The bits set in either."""
    def bitwise_or_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of bitwise_or."""
    def bitwise_right_shift(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input / 2 ** other, floored."""
    def bitwise_right_shift_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of bitwise_right_shift."""
    def bitwise_xor(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The bits set in exactly one."""
    def bitwise_xor_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of bitwise_xor."""
    def bmm(input, mat2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The products of two batches of matrices: (b, n, k) @ (b, k, m) -> (b, n, m)."""
    @overload
    def broadcast_to(input, *size: _int) -> Tensor:
        """input expanded to a shape."""
    @overload
    def broadcast_to(input, size: Sequence[_int]) -> Tensor:
        """input expanded to a shape."""
    def cauchy_(input, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place version of cauchy."""
    def ceil(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The least integer not below."""
    def ceil_(input) -> Tensor:
        """In-place version of ceil."""
    def cholesky(input, upper: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """linalg.cholesky in its older spelling."""
    def cholesky_inverse(input, upper: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """A^-1, from A's Cholesky factor (L, or U with upper=True)."""
    def cholesky_solve(input, input2: Tensor, upper: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """X with A X = input, from A's Cholesky factor input2 (L, or U with upper=True)."""
    def chunk(input, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` pieces of equal size along dim (the last may be smaller)."""
    def clamp(input, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input between min and max; where min > max, max."""
    def clamp_(input, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None) -> Tensor:
        """In-place version of clamp."""
    def clamp_max(input, max: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input, at most max."""
    def clamp_max_(input, max: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of clamp_max."""
    def clamp_min(input, min: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input, at least min."""
    def clamp_min_(input, min: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of clamp_min."""
    def clip(input, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input between min and max; where min > max, max."""
    def clip_(input, min: Tensor | _int | _float | _complex | None = None, max: Tensor | _int | _float | _complex | None = None) -> Tensor:
        """In-place version of clamp."""
    def clone(input, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """A copy with its own memory."""
    def combinations(input, r: _int = 2, with_replacement: _bool = False) -> Tensor:
        """All choices of r elements of a vector, in the vector's order, as rows."""
    def conj(input) -> Tensor:
        """The complex conjugate, as a view that is conjugated when it is read; a real tensor itself."""
    def conj_physical(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The complex conjugate, written out; real numbers as they are."""
    def conj_physical_(input) -> Tensor:
        """In-place version of conj_physical."""
    def copysign(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The size of input with the sign of other."""
    def copysign_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of copysign."""
    def corrcoef(input) -> Tensor:
        """The correlation of variables (rows): their covariance over their standard deviations."""
    def cos(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The cosine of radians."""
    def cos_(input) -> Tensor:
        """In-place version of cos."""
    def cosh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(input) -> Tensor:
        """In-place version of cosh."""
    def count_nonzero(input, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """The number of elements that are not 0."""
    def cov(input, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance of variables (rows) over observations (columns).

        fweights: how often each observation occurs, int.  aweights: its relative weight.
        """
    def cross(input, other: Tensor, dim: _int | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """linalg.cross; without dim, along the first dim of size 3."""
    def cummax(input, dim: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> _cummax_result:
        """The largest of the elements up to each one along dim, and where it is."""
    def cummin(input, dim: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> _cummin_result:
        """The smallest of the elements up to each one along dim, and where it is."""
    def cumprod(input, dim: _int, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The products of the elements up to each one along dim."""
    def cumprod_(input, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """In-place version of cumprod."""
    def cumsum(input, dim: _int, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sums of the elements up to each one along dim; integers are added in int64."""
    def cumsum_(input, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """In-place version of cumsum."""
    def deg2rad(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Degrees as radians."""
    def deg2rad_(input) -> Tensor:
        """In-place version of deg2rad."""
    def det(input) -> Tensor:
        """linalg.det in its older spelling."""
    def diag(input, diagonal: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Of a vector, the matrix with it as a diagonal; of a matrix, a copy of its diagonal."""
    def diag_embed(input, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """input's last dim as the diagonal of matrices that lie in dim1 and dim2 of the result."""
    def diagflat(input, offset: _int = 0) -> Tensor:
        """The matrix with input's elements as a diagonal."""
    def diagonal(input, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A diagonal of each matrix over dims dim1 and dim2, as a new last dim."""
    def diagonal_scatter(input, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """input with its diagonal replaced by src."""
    def diff(input, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The n-th differences of neighbours along dim, with tensors put before and behind first."""
    def digamma(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The derivative of lgamma."""
    def digamma_(input) -> Tensor:
        """In-place version of digamma."""
    def dist(input, other: Tensor, p: _int | _float | _complex = 2) -> Tensor:
        """The norm of input - other."""
    def div(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input / other; rounding_mode "trunc" or "floor" rounds the quotient."""
    def div_(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None) -> Tensor:
        """In-place version of div."""
    def divide(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input / other; rounding_mode "trunc" or "floor" rounds the quotient."""
    def divide_(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None) -> Tensor:
        """In-place version of div."""
    def dot(input, tensor: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sum of products of two vectors."""
    def dsplit(input, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
        """Pieces along dim 2."""
    def eq(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input equals other."""
    def eq_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of eq."""
    def equal(input, other: Tensor) -> _bool:
        """Whether shapes and all elements are equal."""
    def erf(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The error function."""
    def erf_(input) -> Tensor:
        """In-place version of erf."""
    def erfc(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """1 - erf(input)."""
    def erfc_(input) -> Tensor:
        """In-place version of erfc."""
    def erfinv(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The inverse of the error function."""
    def erfinv_(input) -> Tensor:
        """In-place version of erfinv."""
    def exp(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """e to the power of input."""
    def exp2(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """2 to the power of input."""
    def exp2_(input) -> Tensor:
        """In-place version of exp2."""
    def exp_(input) -> Tensor:
        """In-place version of exp."""
    @overload
    def expand(input, *size: _int, implicit: _bool = False) -> Tensor:
        """Dims of size 1 repeated without a copy; -1 leaves a size as it is."""
    @overload
    def expand(input, size: Sequence[_int], *, implicit: _bool = False) -> Tensor:
        """Dims of size 1 repeated without a copy; -1 leaves a size as it is."""
    def expand_as(input, other: Tensor) -> Tensor:
        """expand(other.size())."""
    def expm1(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """exp(input) - 1, exact near 0."""
    def expm1_(input) -> Tensor:
        """In-place version of expm1."""
    def exponential_(input, lambd: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place version of exponential."""
    def fill_diagonal_(input, fill_value: _int | _float | _complex, wrap: _bool = False) -> Tensor:
        """A number written where all coordinates are equal; if `wrap`, to each block of a tall matrix."""
    def fix(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The integer part."""
    def fix_(input) -> Tensor:
        """In-place version of trunc."""
    def flatten(input, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Dims start_dim to end_dim as one."""
    @overload
    def flip(input, *dims: _int) -> Tensor:
        """The order of the elements along each of dims reversed."""
    @overload
    def flip(input, dims: Sequence[_int]) -> Tensor:
        """The order of the elements along each of dims reversed."""
    def fliplr(input) -> Tensor:
        """The columns in reverse order."""
    def flipud(input) -> Tensor:
        """The rows in reverse order."""
    def float_power(input, exponent: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input to the power of exponent, in double precision."""
    def float_power_(input, exponent: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of float_power."""
    def floor(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The greatest integer not above."""
    def floor_(input) -> Tensor:
        """In-place version of floor."""
    def floor_divide(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The quotient rounded towards minus infinity."""
    def floor_divide_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of floor_divide."""
    def fmax(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The larger of two; a nan gives way to a number."""
    def fmin(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The smaller of two; a nan gives way to a number."""
    def fmod(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The remainder with the sign of the dividend, as C's fmod."""
    def fmod_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of fmod."""
    def frac(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input - trunc(input)."""
    def frac_(input) -> Tensor:
        """In-place version of frac."""
    def frexp(input, *, out: Tensor | Sequence[Tensor] | None = None) -> _frexp_result:
        """(mantissa, exponent) with input = mantissa * 2 ** exponent and 0.5 <= |mantissa| < 1."""
    def gather(input, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """out[.., i, ..] = input[.., index[.., i, ..], ..] along dim."""
    def gcd(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The greatest common divisor."""
    def gcd_(input, other: Tensor) -> Tensor:
        """In-place version of gcd."""
    def ge(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is at least other."""
    def ge_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of ge."""
    def geometric_(input, p: _float, *, generator: Generator | None = None) -> Tensor:
        """In-place version of geometric."""
    def geqrf(input, *, out: Tensor | Sequence[Tensor] | None = None) -> _geqrf_result:
        """(a, tau): R above and the reflections below the diagonal, as LAPACK stores a QR decomposition."""
    def ger(input, vec2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """All products of two vectors: (n), (m) -> (n, m)."""
    def greater(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is above other."""
    def greater_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of gt."""
    def greater_equal(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is at least other."""
    def greater_equal_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of ge."""
    def gt(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is above other."""
    def gt_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of gt."""
    def hardshrink(input, lambd: _int | _float | _complex = 0.5) -> Tensor:
        """x, 0 where |x| <= lambd."""
    def hash_tensor(input, dim: _int | Sequence[_int] = (), *, keepdim: _bool = False, mode: _int = 0, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The bits of all elements, as float64 or int64, combined by xor: uint64."""
    def heaviside(input, values: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """0 below 0, `values` at 0, 1 above."""
    def heaviside_(input, values: Tensor) -> Tensor:
        """In-place version of heaviside."""
    def histc(input, bins: _int = 100, min: _int | _float | _complex = 0, max: _int | _float | _complex = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """How many elements fall into each of `bins` equal intervals between min and max.

        min = max takes the smallest and largest element; elements outside are left out.
        """
    def histogram(input, bins: _int | Tensor, *, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> _histogram_result:
        """(hist, bin_edges) of all elements.

        bins: the number of bins of equal width over `range` (that of the data), or a tensor of edges.
        """
    def hsplit(input, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
        """Pieces along dim 1 (dim 0 of vectors)."""
    def hypot(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """sqrt(input ** 2 + other ** 2) without overflow."""
    def hypot_(input, other: Tensor) -> Tensor:
        """In-place version of hypot."""
    def i0(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The modified Bessel function of order 0."""
    def i0_(input) -> Tensor:
        """In-place version of i0."""
    def igamma(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The lower regularised incomplete gamma function P(input, other)."""
    def igamma_(input, other: Tensor) -> Tensor:
        """In-place version of igamma."""
    def igammac(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The upper regularised incomplete gamma function Q(input, other)."""
    def igammac_(input, other: Tensor) -> Tensor:
        """In-place version of igammac."""
    def index_add(input, dim: _int, index: Tensor, source: Tensor, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with alpha * source's slices added to the slices at `index` along dim."""
    def index_add_(input, dim: _int, index: Tensor, source: Tensor, *, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of index_add."""
    def index_copy(input, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with the slices at `index` along dim replaced by source's slices."""
    def index_copy_(input, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """In-place version of index_copy."""
    def index_fill(input, dim: _int, index: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
        """input with the slices at `index` along dim filled with one number (or 0-d tensor)."""
    def index_fill_(input, dim: _int, index: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of index_fill."""
    def index_put(input, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """input with input[indices] = values; accumulate adds, repeated positions too."""
    def index_put_(input, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place version of index_put."""
    def index_reduce(input, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with source's slices combined in at `index`; reduce: prod, mean, amax or amin."""
    def index_reduce_(input, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """In-place version of index_reduce."""
    def index_select(input, dim: _int, index: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The slices of input at the positions `index` (a vector) along dim."""
    def inner(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sum of products over the last dims."""
    def inverse(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """linalg.inv in its older spelling."""
    def isclose(input, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """|input - other| <= atol + rtol |other|, elementwise; infinities equal themselves."""
    def isfinite(input) -> Tensor:
        """Whether the element is neither infinite nor nan."""
    def isinf(input) -> Tensor:
        """Whether the element is infinite."""
    def isnan(input) -> Tensor:
        """Whether the element is nan."""
    def isneginf(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether the element is -inf."""
    def isposinf(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether the element is +inf."""
    def isreal(input) -> Tensor:
        """Whether the imaginary part is 0."""
    def istft(input, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """The signal (..., time) of spectra (..., frequencies, frames), by least squares: the inverse of stft."""
    def kron(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Kronecker's product: every element of input times the whole of other, block by block."""
    def kthvalue(input, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _kthvalue_result:
        """The k-th smallest element along dim (from 1), and where it is."""
    def lcm(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The least common multiple."""
    def lcm_(input, other: Tensor) -> Tensor:
        """In-place version of lcm."""
    def ldexp(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input * 2 ** other; in three steps where other is whole, so that only the result may overflow."""
    def ldexp_(input, other: Tensor) -> Tensor:
        """In-place version of ldexp."""
    def le(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is at most other."""
    def le_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of le."""
    def lerp(input, end: Tensor, weight: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input + weight * (end - input), exact at both ends."""
    def lerp_(input, end: Tensor, weight: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of lerp."""
    def less(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is below other."""
    def less_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of lt."""
    def less_equal(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is at most other."""
    def less_equal_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of le."""
    def lgamma(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The logarithm of |gamma(input)|."""
    def lgamma_(input) -> Tensor:
        """In-place version of lgamma."""
    def log(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The natural logarithm."""
    def log10(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The logarithm to base 10."""
    def log10_(input) -> Tensor:
        """In-place version of log10."""
    def log1p(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log(1 + input), exact near 0."""
    def log1p_(input) -> Tensor:
        """In-place version of log1p."""
    def log2(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The logarithm to base 2."""
    def log2_(input) -> Tensor:
        """In-place version of log2."""
    def log_(input) -> Tensor:
        """In-place version of log."""
    def log_normal_(input, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Tensor:
        """In-place version of log_normal."""
    def log_softmax(input, dim: _int, dtype: _dtype | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log(softmax(input)) along dim, without overflow."""
    def logaddexp(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log(exp(input) + exp(other)) without overflow."""
    def logaddexp2(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log2(2 ** input + 2 ** other) without overflow."""
    def logcumsumexp(input, dim: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log of the running sums of exp(input) along dim, without overflow."""
    def logdet(input) -> Tensor:
        """log det(A); nan for a negative determinant."""
    def logical_and(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether both are nonzero."""
    def logical_and_(input, other: Tensor) -> Tensor:
        """In-place version of logical_and."""
    def logical_not(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is zero."""
    def logical_not_(input) -> Tensor:
        """In-place version of logical_not."""
    def logical_or(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether either is nonzero."""
    def logical_or_(input, other: Tensor) -> Tensor:
        """In-place version of logical_or."""
    def logical_xor(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether exactly one is nonzero."""
    def logical_xor_(input, other: Tensor) -> Tensor:
        """In-place version of logical_xor."""
    def logit(input, eps: _float | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log(x / (1 - x)); with eps, x is first clamped to [eps, 1 - eps]."""
    def logit_(input, eps: _float | None = None) -> Tensor:
        """In-place version of logit."""
    def logsumexp(input, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """log(sum(exp(input))) over dims, without overflow."""
    def lt(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input is below other."""
    def lt_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of lt."""
    def lu(A, pivot: _bool = True, get_infos: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Any:
        """(LU, pivots), and infos with get_infos: linalg.lu_factor_ex in its older spelling."""
    def lu_solve(input, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """linalg.lu_solve with its operands in the older order."""
    def masked_fill(input, mask: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
        """input (broadcast with mask) with one number (or 0-d tensor) where mask is true."""
    def masked_fill_(input, mask: Tensor, value: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of masked_fill."""
    def masked_scatter(input, mask: Tensor, source: Tensor) -> Tensor:
        """input (broadcast with mask) with source's elements, in order, where mask is true."""
    def masked_scatter_(input, mask: Tensor, source: Tensor) -> Tensor:
        """In-place version of masked_scatter."""
    def masked_select(input, mask: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The elements of input (broadcast with mask) where mask is true, as a vector."""
    def matmul(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The matrix product with broadcast batch dims; vectors count as rows or columns."""
    def matrix_exp(input) -> Tensor:
        """The matrix exponential: Taylor's series of a scaled matrix, then repeated squaring."""
    def matrix_power(input, n: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """linalg.matrix_power in its older spelling."""
    @overload
    def max(input, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The largest element, or (values, indices) along dim."""
    @overload
    def max(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The largest element, or (values, indices) along dim."""
    @overload
    def max(input, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _max_result:
        """The largest element, or (values, indices) along dim."""
    def maximum(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The larger of two; nan if either is."""
    def maximum_(input, other: Tensor) -> Tensor:
        """In-place version of maximum."""
    def mean(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The arithmetic mean."""
    @overload
    def median(input, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The (lower) median of all elements; with dim, (values, indices) along it. nan wins."""
    @overload
    def median(input, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _median_result:
        """The (lower) median of all elements; with dim, (values, indices) along it. nan wins."""
    @overload
    def min(input, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The smallest element, or (values, indices) along dim."""
    @overload
    def min(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The smallest element, or (values, indices) along dim."""
    @overload
    def min(input, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _min_result:
        """The smallest element, or (values, indices) along dim."""
    def minimum(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The smaller of two; nan if either is."""
    def minimum_(input, other: Tensor) -> Tensor:
        """In-place version of minimum."""
    def mm(input, mat2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The product of two matrices: (n, k) @ (k, m) -> (n, m)."""
    def mode(input, dim: _int = -1, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _mode_result:
        """The most frequent element along dim (the smallest of several), and where it last is."""
    def moveaxis(input, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Dims moved to other places, the rest in order."""
    def movedim(input, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Dims moved to other places, the rest in order."""
    def msort(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The elements in order along the first dim."""
    def mul(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input * other."""
    def mul_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of mul."""
    def multinomial(input, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """num_samples indices for each row of weights in input, drawn by them."""
    def multiply(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input * other."""
    def multiply_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of mul."""
    def mv(input, vec: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Matrix times vector."""
    def mvlgamma(input, p: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension p."""
    def mvlgamma_(input, p: _int) -> Tensor:
        """In-place version of mvlgamma."""
    def nan_to_num(input, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """nan and infinities as finite numbers (0, the largest and the smallest by default)."""
    def nan_to_num_(input, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """In-place version of nan_to_num."""
    def nanmean(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The mean of what is not nan."""
    @overload
    def nanmedian(input, dim: None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The median of what is not nan; with dim, (values, indices) along it."""
    @overload
    def nanmedian(input, dim: _int, keepdim: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _nanmedian_result:
        """The median of what is not nan; with dim, (values, indices) along it."""
    def nanquantile(input, q: Tensor | _float, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """quantile of what is not nan."""
    def nansum(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sum of what is not nan."""
    def narrow(input, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """`length` elements from `start` on, along dim."""
    def narrow_copy(input, dim: _int, start: _int, length: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """narrow, copied."""
    def ne(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input differs from other."""
    def ne_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of ne."""
    def neg(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """-input."""
    def neg_(input) -> Tensor:
        """In-place version of neg."""
    def negative(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """-input."""
    def negative_(input) -> Tensor:
        """In-place version of neg."""
    @overload
    def new_empty(input, *size: _int, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Uninitialised memory of this tensor's dtype."""
    @overload
    def new_empty(input, size: Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Uninitialised memory of this tensor's dtype."""
    def new_empty_strided(input, size: _int | Sequence[_int], stride: _int | Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Uninitialised memory of this tensor's dtype with the given strides."""
    def new_full(input, size: _int | Sequence[_int], fill_value: _int | _float | _complex, *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """One number, in this tensor's dtype."""
    @overload
    def new_ones(input, *size: _int, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Ones of this tensor's dtype."""
    @overload
    def new_ones(input, size: Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Ones of this tensor's dtype."""
    @overload
    def new_zeros(input, *size: _int, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Zeros of this tensor's dtype."""
    @overload
    def new_zeros(input, size: Sequence[_int], *, dtype: _dtype | None = None, layout: StorageLayout | None = None, device: str | _int | _device | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Zeros of this tensor's dtype."""
    def nextafter(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The next floating-point number from input towards other."""
    def nextafter_(input, other: Tensor) -> Tensor:
        """In-place version of nextafter."""
    @overload
    def nonzero(input, *, as_tuple: Literal[False] = False, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The positions of the nonzero elements: a row for each, or with as_tuple an index per dim."""
    @overload
    def nonzero(input, *, as_tuple: Literal[True], out: Tensor | Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
        """The positions of the nonzero elements: a row for each, or with as_tuple an index per dim."""
    @overload
    def nonzero(input, *, as_tuple: _bool = False, out: Tensor | Sequence[Tensor] | None = None) -> Any:
        """The positions of the nonzero elements: a row for each, or with as_tuple an index per dim."""
    def nonzero_static(input, *, size: _int, fill_value: _int = -1) -> Tensor:
        """nonzero with exactly `size` rows: cut off, or filled up with fill_value."""
    def norm(input, p: _int | _float | _complex | str | None = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The vector norm of order p over dims (Frobenius: 2)."""
    def normal_(input, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place version of normal_fill."""
    def not_equal(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether input differs from other."""
    def not_equal_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of ne."""
    def orgqr(input, tau: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The first columns of the product of the reflections that (input, tau) hold, as geqrf gives them."""
    def ormqr(input, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Q @ other (Q^H @ other with transpose; from the right without left), for geqrf's reflections."""
    def outer(input, vec2: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """All products of two vectors: (n), (m) -> (n, m)."""
    @overload
    def permute(input, *dims: _int) -> Tensor:
        """The dims in another order."""
    @overload
    def permute(input, dims: Sequence[_int]) -> Tensor:
        """The dims in another order."""
    def pinverse(input, rcond: _float = 1e-15) -> Tensor:
        """linalg.pinv in its older spelling."""
    def polygamma(input, n: _int, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The n-th derivative of digamma."""
    def polygamma_(input, n: _int) -> Tensor:
        """In-place version of _polygamma."""
    def positive(input) -> Tensor:
        """input itself."""
    def pow(input, exponent: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input to the power of exponent."""
    def pow_(input, exponent: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of pow."""
    def prelu(input, weight: Tensor) -> Tensor:
        """x above 0, else weight * x, with one weight, or one a channel (arXiv:1502.01852)."""
    def prod(input, dim: _int | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The product of all elements, or along one dim."""
    def put(input, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """input, seen as flat, with source written (or added) at the positions `index`."""
    def put_(input, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place version of put."""
    def qr(input, some: _bool = True, *, out: Tensor | Sequence[Tensor] | None = None) -> _qr_result:
        """linalg.qr in its older spelling."""
    def quantile(input, q: Tensor | _float, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The values below which fractions q of the elements lie; nan where one is nan."""
    def rad2deg(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Radians as degrees."""
    def rad2deg_(input) -> Tensor:
        """In-place version of rad2deg."""
    def random_(input, from_: Any = None, to: Any = ..., *, generator: Generator | None = None) -> Tensor:
        """In-place version of random."""
    def ravel(input) -> Tensor:
        """All dims as one."""
    def reciprocal(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """1 / input."""
    def reciprocal_(input) -> Tensor:
        """In-place version of reciprocal."""
    def relu(input, inplace: _bool = False) -> Tensor:
        """max(input, 0), nan kept; its gradient at 0 is 0."""
    def relu_(input) -> Tensor:
        """In-place version of relu."""
    def remainder(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The remainder with the sign of the divisor, as Python's %."""
    def remainder_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of remainder."""
    def renorm(input, p: _int | _float | _complex, dim: _int, maxnorm: _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with each slice along dim scaled down so that its p-norm is at most maxnorm."""
    def renorm_(input, p: _int | _float | _complex, dim: _int, maxnorm: _int | _float | _complex) -> Tensor:
        """In-place version of renorm."""
    @overload
    def repeat(input, *repeats: _int) -> Tensor:
        """The tensor laid out repeats[i] times along each dim; more repeats than dims add dims."""
    @overload
    def repeat(input, repeats: Sequence[_int]) -> Tensor:
        """The tensor laid out repeats[i] times along each dim; more repeats than dims add dims."""
    def repeat_interleave(input, repeats: Tensor | _int, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Each element (or slice along dim) several times, one copy after the other.

        repeats: an int, or an int tensor with one number for each slice. With repeats alone, the
        positions repeated by it. dim None flattens input.
        """
    @overload
    def reshape(input, *shape: _int) -> Tensor:
        """The elements in row-major order in another shape: a view where one exists, else a copy."""
    @overload
    def reshape(input, shape: Sequence[_int]) -> Tensor:
        """The elements in row-major order in another shape: a view where one exists, else a copy."""
    def reshape_as(input, other: Tensor) -> Tensor:
        """reshape(other.size())."""
    def resolve_conj(input) -> Tensor:
        """A copy of a view that is conjugated when it is read; another tensor as it is."""
    def resolve_neg(input) -> Tensor:
        """A copy of a view that is negated when it is read; another tensor as it is."""
    def roll(input, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ()) -> Tensor:
        """The elements moved on by shifts along dims, those that fall off entering at the start."""
    def rot90(input, k: _int = 1, dims: _int | Sequence[_int] = (0, 1)) -> Tensor:
        """Turned k times by 90 degrees in the plane of two dims."""
    def round(input, *, decimals: _int | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The nearest integer, halves to even; `decimals` digits after the point."""
    def round_(input, *, decimals: _int | None = None) -> Tensor:
        """In-place version of round."""
    def rsqrt(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """1 / sqrt(input)."""
    def rsqrt_(input) -> Tensor:
        """In-place version of rsqrt."""
    def rsub(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
        """other - alpha * input."""
    def scatter(input, dim: _int, index: Tensor, src: Tensor | _int | _float | _complex | None = None, value: _int | _float | _complex | None = None, *, reduce: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with src (or one number) written at [.., index[.., i, ..], ..] along dim.

        reduce: None writes; "add" and "multiply" combine with what is there.
        """
    def scatter_(input, dim: _int, index: Tensor, src: Tensor | _int | _float | _complex | None = None, value: _int | _float | _complex | None = None, *, reduce: str | None = None) -> Tensor:
        """In-place version of scatter."""
    def scatter_add(input, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with src added at [.., index[.., i, ..], ..] along dim."""
    def scatter_add_(input, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """In-place version of scatter_add."""
    def scatter_reduce(input, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with src combined in along dim; reduce: "sum", "prod", "mean", "amax" or "amin".

        include_self: whether the elements of input that are written to take part.
        """
    def scatter_reduce_(input, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """In-place version of scatter_reduce."""
    def select(input, dim: _int, index: _int) -> Tensor:
        """One slice along dim; dim disappears."""
    def select_scatter(input, src: Tensor, dim: _int, index: _int) -> Tensor:
        """input with input.select(dim, index) replaced by src."""
    def selu(input, inplace: _bool = False) -> Tensor:
        """elu scaled so that unit variance is kept (arXiv:1706.02515)."""
    def selu_(input) -> Tensor:
        """In-place version of selu."""
    def sgn(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sign; of a complex number, input / |input|."""
    def sgn_(input) -> Tensor:
        """In-place version of sgn."""
    def sigmoid(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """1 / (1 + exp(-input))."""
    def sigmoid_(input) -> Tensor:
        """In-place version of sigmoid."""
    def sign(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """-1, 0 or 1."""
    def sign_(input) -> Tensor:
        """In-place version of sign."""
    def signbit(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """Whether the sign bit is set (of -0.0 too)."""
    def sin(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sine of radians."""
    def sin_(input) -> Tensor:
        """In-place version of sin."""
    def sinc(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """sin(pi x) / (pi x), 1 at 0."""
    def sinc_(input) -> Tensor:
        """In-place version of sinc."""
    def sinh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(input) -> Tensor:
        """In-place version of sinh."""
    def slice_scatter(input, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input with the elements start, start + step, ... before end along dim replaced by src."""
    def slogdet(input, *, out: Tensor | Sequence[Tensor] | None = None) -> _slogdet_result:
        """linalg.slogdet in its older spelling."""
    def softmax(input, dim: _int, dtype: _dtype | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """exp(input) / sum(exp(input)) along dim; `dtype` converts the input first."""
    def sort(input, dim: _int = -1, descending: _bool = False, stable: _bool | None = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _sort_result:
        """The elements in order along dim, and where each was; equal ones keep their order."""
    def split(input, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of split_size along dim (the last may be smaller), or of a list of sizes."""
    def split_with_sizes(input, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of the given sizes along dim, as views."""
    def sqrt(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The square root."""
    def sqrt_(input) -> Tensor:
        """In-place version of sqrt."""
    def square(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input squared."""
    def square_(input) -> Tensor:
        """In-place version of square."""
    @overload
    def squeeze(input, *dim: _int) -> Tensor:
        """Without dims of size 1 (only those named)."""
    @overload
    def squeeze(input, dim: Sequence[_int] | None = None) -> Tensor:
        """Without dims of size 1 (only those named)."""
    @overload
    def squeeze_(input, *dim: _int) -> Tensor:
        """In-place version of squeeze."""
    @overload
    def squeeze_(input, dim: Sequence[_int] | None = None) -> Tensor:
        """In-place version of squeeze."""
    def std(input, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The standard deviation: the square root of var."""
    def std_mean(input, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None) -> tuple[Tensor, Tensor]:
        """(std, mean)."""
    def stft(input, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """Spectra (..., frequencies, frames) of windows of a signal (..., time), hop_length apart.

        center: frames are centered at multiples of hop_length, the signal continued by pad_mode.
        normalized: spectra are divided by sqrt(n_fft).
        """
    def sub(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input - alpha * other."""
    def sub_(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of sub."""
    def subtract(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input - alpha * other."""
    def subtract_(input, other: Tensor | _int | _float | _complex, *, alpha: _int | _float | _complex = 1) -> Tensor:
        """In-place version of sub."""
    def sum(input, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The sum; integers are added up in int64."""
    @overload
    def sum_to_size(input, *size: _int) -> Tensor:
        """The sum over the dims in which a tensor of shape `size` would be broadcast to input's."""
    @overload
    def sum_to_size(input, size: Sequence[_int]) -> Tensor:
        """The sum over the dims in which a tensor of shape `size` would be broadcast to input's."""
    def svd(input, some: _bool = True, compute_uv: _bool = True, *, out: Tensor | Sequence[Tensor] | None = None) -> _svd_result:
        """(U, S, V) with input = U diag(S) V^H; zeros for U and V without compute_uv."""
    def swapaxes(input, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dims."""
    def swapaxes_(input, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of transpose."""
    def swapdims(input, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dims."""
    def swapdims_(input, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of transpose."""
    def t(input) -> Tensor:
        """The transpose of a matrix; vectors stay as they are."""
    def t_(input) -> Tensor:
        """In-place version of t."""
    def take(input, index: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The elements of input, seen as flat, at the positions `index`."""
    def take_along_dim(input, indices: Tensor, dim: _int | None = None, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """gather with indices broadcast to input's other dims; dim None flattens input first."""
    def tan(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The tangent of radians."""
    def tan_(input) -> Tensor:
        """In-place version of tan."""
    def tanh(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The hyperbolic tangent."""
    def tanh_(input) -> Tensor:
        """In-place version of tanh."""
    def tensor_split(input, indices_or_sections: _int | Sequence[_int] | Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces cut at indices, or a number of nearly equal pieces."""
    @overload
    def tile(input, *dims: _int) -> Tensor:
        """repeat, where fewer repeats than dims leave the first dims alone."""
    @overload
    def tile(input, dims: Sequence[_int]) -> Tensor:
        """repeat, where fewer repeats than dims leave the first dims alone."""
    def topk(input, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Tensor | Sequence[Tensor] | None = None) -> _topk_result:
        """The k largest (or smallest) elements along dim, in order, and where they are."""
    def trace(input) -> Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(input, dim0: _int, dim1: _int) -> Tensor:
        """Swap two dims."""
    def transpose_(input, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of transpose."""
    def triangular_solve(input, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: Tensor | Sequence[Tensor] | None = None) -> _triangular_solve_result:
        """(solution, a copy of A): linalg.solve_triangular in its older spelling."""
    def tril(input, diagonal: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The elements on and below a diagonal, zeros elsewhere."""
    def tril_(input, diagonal: _int = 0) -> Tensor:
        """In-place version of tril."""
    def triu(input, diagonal: _int = 0, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The elements on and above a diagonal, zeros elsewhere."""
    def triu_(input, diagonal: _int = 0) -> Tensor:
        """In-place version of triu."""
    def true_divide(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input / other; rounding_mode "trunc" or "floor" rounds the quotient."""
    def true_divide_(input, other: Tensor | _int | _float | _complex, *, rounding_mode: str | None = None) -> Tensor:
        """In-place version of div."""
    def trunc(input, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The integer part."""
    def trunc_(input) -> Tensor:
        """In-place version of trunc."""
    def type_as(input, other: Tensor) -> Tensor:
        """input in the dtype and on the device of other."""
    def unbind(input, dim: _int = 0) -> tuple[Tensor, ...]:
        """All slices along dim, as a tuple of views."""
    def unflatten(input, dim: _int, sizes: _int | Sequence[_int]) -> Tensor:
        """One dim cut into several; one of them may be -1."""
    def unfold(input, dimension: _int, size: _int, step: _int) -> Tensor:
        """All windows of `size` elements, `step` apart, along a dim, as a new last dim."""
    def uniform_(input, from_: _float = 0.0, to: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In-place version of uniform."""
    @overload
    def unique(input, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
        """The different elements in order (slices, with dim), where each element went, and counts."""
    @overload
    def unique(input, sorted: _bool = True, return_counts: _bool = False, dim: _int | None = None, *, return_inverse: Literal[True]) -> tuple[Tensor, ...]:
        """The different elements in order (slices, with dim), where each element went, and counts."""
    @overload
    def unique(input, sorted: _bool = True, return_inverse: _bool = False, dim: _int | None = None, *, return_counts: Literal[True]) -> tuple[Tensor, ...]:
        """The different elements in order (slices, with dim), where each element went, and counts."""
    @overload
    def unique(input, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
        """The different elements in order (slices, with dim), where each element went, and counts."""
    @overload
    def unique_consecutive(input, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
        """The elements (slices, with dim) without those that equal their predecessor."""
    @overload
    def unique_consecutive(input, return_counts: _bool = False, dim: _int | None = None, *, return_inverse: Literal[True]) -> tuple[Tensor, ...]:
        """The elements (slices, with dim) without those that equal their predecessor."""
    @overload
    def unique_consecutive(input, return_inverse: _bool = False, dim: _int | None = None, *, return_counts: Literal[True]) -> tuple[Tensor, ...]:
        """The elements (slices, with dim) without those that equal their predecessor."""
    @overload
    def unique_consecutive(input, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
        """The elements (slices, with dim) without those that equal their predecessor."""
    def unsafe_chunk(input, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """chunk, for callers who write to the parts."""
    def unsafe_split(input, split_size_or_sections: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """split, for callers who write to the parts."""
    def unsafe_split_with_sizes(input, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """split_with_sizes, for callers who write to the parts."""
    def unsqueeze(input, dim: _int) -> Tensor:
        """With a dim of size 1 put in at `dim`."""
    def unsqueeze_(input, dim: _int) -> Tensor:
        """In-place version of unsqueeze."""
    def var(input, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The variance: squared distances from the mean over n - correction (1 by default)."""
    def var_mean(input, dim: _int | Sequence[_int] | _bool | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _int | _float | _complex | None = None) -> tuple[Tensor, Tensor]:
        """(var, mean)."""
    def vdot(input, other: Tensor, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """The dot product with the first vector conjugated."""
    def view_as(input, other: Tensor) -> Tensor:
        """view(other.size())."""
    def view_as_complex(input) -> Tensor:
        """A real tensor with a last dim of 2 as a complex one."""
    def view_as_real(input) -> Tensor:
        """A complex tensor as a real one with a last dim of (real, imaginary)."""
    def vsplit(input, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
        """Pieces along dim 0."""
    def where(input, condition: Tensor, other: Tensor | _int | _float | _complex) -> Tensor:
        """input where condition, else other."""
    def xlogy(input, other: Tensor | _int | _float | _complex, *, out: Tensor | Sequence[Tensor] | None = None) -> Tensor:
        """input * log(other), 0 where input is 0 (unless other is nan)."""
    def xlogy_(input, other: Tensor | _int | _float | _complex) -> Tensor:
        """In-place version of xlogy."""
__all__ = ['WRAPPED', 'Tensor', 'alias', 'kind', 'lookup', 'storage', 'wrap', 'wrap_view']
