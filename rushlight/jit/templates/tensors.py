"""Templates of tensors: what they are, how they are made, converted, viewed, written to; and of devices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.jit.program import runtime as rt
from rushlight.jit.templates.table import of_tensors, plain

# --- what a tensor is -----------------------------------------------------------------------------


@of_tensors("prim::dtype")
def dtype(x: Tensor) -> int:
    return rt.code(x.dtype)


@of_tensors("prim::layout")
def layout(x: Tensor) -> int:
    return rt.code(x.layout)


@of_tensors("prim::device")
def device_of(x: Tensor) -> torch.device:
    return x.device


@of_tensors("prim::requires_grad")
def requires_grad(x: Tensor) -> bool:
    return bool(x.requires_grad)


@of_tensors("prim::is_cuda")
def is_cuda(x: Tensor) -> bool:
    return x.is_cuda


@of_tensors("prim::is_meta")
def is_meta(x: Tensor) -> bool:
    return x.is_meta


@of_tensors("prim::is_nested")
def is_nested(x: Tensor) -> bool:
    return False


@of_tensors("prim::is_sparse")
def is_sparse(x: Tensor) -> bool:
    return bool(x.is_sparse)


@of_tensors("prim::is_cpu")
def is_cpu(x: Tensor) -> bool:
    return x.is_cpu


@of_tensors(
    "prim::is_mps", "prim::is_xla", "prim::is_xpu", "prim::is_ipu", "prim::is_mkldnn", "prim::is_vulkan"
)
def is_elsewhere(x: Tensor) -> bool:
    return False


@of_tensors("prim::is_quantized", "prim::is_mtia", "prim::is_maia")
def is_quantized(x: Tensor) -> bool:
    return False


@of_tensors("prim::is_sparse_csr")
def is_sparse_csr(x: Tensor) -> bool:
    return bool(x.is_sparse_csr)


@of_tensors("is_leaf")
def is_leaf(x: Tensor) -> bool:
    return bool(x.is_leaf)


@of_tensors("retains_grad")
def retains_grad(x: Tensor) -> bool:
    return bool(x.retains_grad)


@of_tensors("mT")
def mT(x: Tensor) -> Tensor:
    return x.mT


@of_tensors("mH")
def mH(x: Tensor) -> Tensor:
    return x.mH


@of_tensors("matrix_H")
def matrix_H(x: Tensor) -> Tensor:
    return x.H


@of_tensors("prim::data")
def data(x: Tensor) -> Tensor:
    return x.data


@of_tensors("prim::grad")
def grad(x: Tensor) -> Tensor | None:
    return x.grad


@of_tensors("prim::itemsize")
def itemsize(x: Tensor) -> int:
    return x.itemsize


@of_tensors("prim::nbytes")
def nbytes(x: Tensor) -> int:
    return x.nbytes


@of_tensors("size")
def size(x: Tensor) -> list[int]:
    return list(x.shape)


@of_tensors("size.int")
def size_of_dim(x: Tensor, dim: int) -> int:
    return x.size(dim)


@of_tensors("stride")
def stride(x: Tensor) -> list[int]:
    return list(x.stride())


@of_tensors("stride.int")
def stride_of_dim(x: Tensor, dim: int) -> int:
    return x.stride(dim)


@of_tensors("dim")
def dim(x: Tensor) -> int:
    return x.dim()


@of_tensors("numel")
def numel(x: Tensor) -> int:
    return x.numel()


@of_tensors("item", "_local_scalar_dense")
def item(x: Tensor) -> int | float | bool | complex:
    return x.item()


@of_tensors("is_floating_point")
def is_floating_point(x: Tensor) -> bool:
    return x.is_floating_point()


@of_tensors("is_complex")
def is_complex(x: Tensor) -> bool:
    return x.is_complex()


@of_tensors("is_contiguous")
def is_contiguous(x: Tensor) -> bool:
    return x.is_contiguous()


@of_tensors("is_contiguous.memory_format")
def is_contiguous_in(x: Tensor, memory_format: torch.memory_format) -> bool:
    return x.is_contiguous(memory_format=memory_format)


@of_tensors("_shape_as_tensor")
def shape_as_tensor(x: Tensor) -> Tensor:
    return torch.tensor(x.shape)


# --- made and converted ---------------------------------------------------------------------------


@of_tensors("tensor")
def tensor(data: Any, dtype: torch.dtype | None, device: torch.device | None, requires_grad: bool) -> Tensor:
    return _of_data(torch.tensor, data, dtype=dtype, device=device, requires_grad=requires_grad)


@of_tensors("as_tensor")
def as_tensor(data: Any, dtype: torch.dtype | None, device: torch.device | None) -> Tensor:
    return _of_data(torch.as_tensor, data, dtype=dtype, device=device)


def _of_data(make: Callable[..., Tensor], data: Any, **options: Any) -> Tensor:
    """A tensor of Python's numbers, with TorchScript's errors."""
    try:
        return make(data, **options)
    except ValueError as error:  # rows of different lengths
        raise RuntimeError(str(error).replace("expected sequence", "Expected sequence")) from None
    except RuntimeError as error:
        if "Could not infer dtype of NoneType" not in str(error):
            raise
        raise RuntimeError("Input must be of ints, floats, or bools, got NoneType") from None


@of_tensors("cat")
def cat(tensors: list[Tensor], dim: int) -> Tensor:
    # An argument that nobody gave stands for a tensor without elements.
    return torch.cat([x for x in tensors if x is not None], dim)


@plain("prim::NumToTensor")
def number_to_tensor(x: int | float | bool | complex) -> Tensor:
    return torch.tensor(x)


@of_tensors("to")
def to(x: Tensor, other: Any) -> Tensor:
    return x.to(other)


@of_tensors("to.device")
def to_device(
    x: Tensor,
    device: torch.device,
    dtype: torch.dtype,
    non_blocking: bool,
    copy: bool,
    memory_format: torch.memory_format | None,
) -> Tensor:
    return x.to(device, dtype, non_blocking, copy, memory_format=memory_format)


@of_tensors("to.dtype")
def to_dtype(
    x: Tensor,
    dtype: torch.dtype,
    non_blocking: bool,
    copy: bool,
    memory_format: torch.memory_format | None,
) -> Tensor:
    return x.to(dtype, non_blocking, copy, memory_format=memory_format)


@of_tensors("to.other")
def to_other(
    x: Tensor, other: Tensor, non_blocking: bool, copy: bool, memory_format: torch.memory_format | None
) -> Tensor:
    return x.to(other, non_blocking, copy, memory_format=memory_format)


@of_tensors("to.dtype_layout")
def to_dtype_and_layout(
    x: Tensor,
    dtype: torch.dtype | None,
    layout: torch.layout | None,
    device: torch.device | None,
    pin_memory: bool | None,
    non_blocking: bool,
    copy: bool,
    memory_format: torch.memory_format | None,
) -> Tensor:
    return x.to(dtype=dtype, device=device, non_blocking=non_blocking, copy=copy, memory_format=memory_format)


@of_tensors("to.prim_Device")
def to_optional_device(
    x: Tensor, device: torch.device | None, dtype: int | None, non_blocking: bool, copy: bool
) -> Tensor:
    return x.to(device, rt.decode("ScalarType", dtype), non_blocking, copy)


@of_tensors("to.prim_dtype")
def to_optional_dtype(x: Tensor, dtype: int | None, non_blocking: bool, copy: bool) -> Tensor:
    return x.to(dtype=rt.decode("ScalarType", dtype), non_blocking=non_blocking, copy=copy)


@of_tensors("to.prim_other")
def to_itself(x: Tensor, non_blocking: bool, copy: bool) -> Tensor:
    return x.to(device=x.device, non_blocking=non_blocking, copy=copy)


@of_tensors("lift_fresh", "alias")
def itself(x: Tensor) -> Tensor:
    return x


@of_tensors("detach", "detach_copy")
def detach(x: Tensor) -> Tensor:
    return x.detach()


# --- gradients ------------------------------------------------------------------------------------


@plain("grad")
def gradients(
    outputs: list[Tensor],
    inputs: list[Tensor],
    grad_outputs: list[Tensor | None] | None,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
) -> list[Tensor | None]:
    return list(
        torch.autograd.grad(
            outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused=allow_unused
        )
    )


@plain("backward.TensorList")
def accumulate_gradients(
    tensors: list[Tensor],
    grad_tensors: list[Tensor | None] | None,
    retain_graph: bool | None,
    create_graph: bool,
) -> None:
    torch.autograd.backward(tensors, grad_tensors, retain_graph, create_graph)


# --- views, and reading and writing at positions --------------------------------------------------


@of_tensors("_unsafe_view")
def unsafe_view(x: Tensor, size: list[int]) -> Tensor:
    return x.reshape(size)


@of_tensors("split.sizes", "split.Tensor")
def split(x: Tensor, split_size: int | list[int], dim: int) -> Any:
    return x.split(split_size, dim)


@of_tensors("unflatten.int")
def unflatten(x: Tensor, dim: int, sizes: list[int]) -> Tensor:
    return x.unflatten(dim, sizes)


@of_tensors("unfold")
def unfold(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    return x.unfold(dim, size, step)


@of_tensors("unsafe_chunk")
def unsafe_chunk(x: Tensor, chunks: int, dim: int) -> list[Tensor]:
    return rt.narrowed(x, x.chunk(chunks, dim), dim)


@of_tensors("unsafe_split")
def unsafe_split(x: Tensor, split_size: int, dim: int) -> list[Tensor]:
    return rt.narrowed(x, x.split(split_size, dim), dim)


@of_tensors("index.Tensor")
def index(x: Tensor, indices: list[Tensor | None]) -> Tensor:
    return x[rt.indices(indices)]


@of_tensors("index_put_")
def index_put_(x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool) -> Tensor:
    found: Tensor = rt.put(x, indices, values, accumulate)
    return found


@of_tensors("nonzero_numpy")
def nonzero_numpy(x: Tensor) -> list[Tensor]:
    return list(x.nonzero(as_tuple=True))


@of_tensors("random_.from")
def random_(x: Tensor, low: int, high: int | None, generator: torch.Generator | None) -> Tensor:
    return x.random_(low, high, generator=generator)


@of_tensors("uniform_")
def uniform_(x: Tensor, low: float, high: float, generator: torch.Generator | None) -> Tensor:
    return x.uniform_(low, high, generator=generator)


# --- of several tensors ---------------------------------------------------------------------------


@plain("_infer_size")
def infer_size(first: list[int], second: list[int]) -> list[int]:
    return list(torch.broadcast_shapes(first, second))


@of_tensors("tensordot")
def tensordot(
    x: Tensor, other: Tensor, dims: list[int], other_dims: list[int], out: Tensor | None = None
) -> Tensor:
    both = dims, other_dims  # two lines: `out` need not be given
    return torch.tensordot(x, other, both, out=out)


@of_tensors("einsum.sublist")
def einsum_sublist(*parts: Any) -> Tensor:
    return torch.einsum(*parts)


@of_tensors("einsum")
def einsum(equation: str, tensors: list[Tensor], path: list[int] | None) -> Tensor:
    return torch.einsum(equation, tensors)


@of_tensors("block_diag")
def block_diag(tensors: list[Tensor]) -> Tensor:
    return torch.block_diag(*tensors)


@of_tensors("cartesian_prod")
def cartesian_prod(tensors: list[Tensor]) -> Tensor:
    return torch.cartesian_prod(*tensors)


@of_tensors("broadcast_tensors")
def broadcast_tensors(tensors: list[Tensor]) -> Any:
    return torch.broadcast_tensors(*tensors)


@of_tensors("_unique2")
def unique2(*arguments: Any) -> Any:
    return torch._unique2(*arguments)


@of_tensors("unique_dim")
def unique_dim(*arguments: Any) -> Any:
    return rt.unique_dim(*arguments)


@of_tensors("fractional_max_pool2d")
def fractional_max_pool2d(x: Tensor, kernel: list[int], size: list[int], samples: Tensor) -> Any:
    return torch.nn.functional.fractional_max_pool2d(
        x, kernel, size, return_indices=True, _random_samples=samples
    )


@of_tensors("fractional_max_pool3d")
def fractional_max_pool3d(x: Tensor, kernel: list[int], size: list[int], samples: Tensor) -> Any:
    return torch.nn.functional.fractional_max_pool3d(
        x, kernel, size, return_indices=True, _random_samples=samples
    )


@of_tensors("unique_consecutive")
def unique_consecutive(*arguments: Any) -> Any:
    return rt.unique_consecutive(*arguments)


@of_tensors("stft")
def stft(*arguments: Any) -> Tensor:
    return rt.spectrum(*arguments)


@of_tensors("stft.center")
def stft_with_center(*arguments: Any) -> Any:
    return torch.stft(*arguments)


# --- devices, settings, waiting -------------------------------------------------------------------


@plain("prim::type")
def type_of_device(device: torch.device) -> str:
    return device.type


@plain("prim::index")
def index_of_device(device: torch.device) -> int | None:
    return device.index


@plain("prim::id")
def identity(x: Any) -> int:
    return 0 if x is None else id(x)


@plain("warn")
def warn(message: str, stacklevel: int) -> None:
    return rt.warn(message)


@plain("manual_seed")
def manual_seed(seed: int) -> torch.Generator:
    return torch.manual_seed(seed)


@plain("manual_seed.generator")
def manual_seed_of(generator: torch.Generator, seed: int) -> torch.Generator:
    return generator.manual_seed(seed)


@plain("is_autocast_cpu_enabled")
def is_autocast_cpu_enabled() -> bool:
    return torch.is_autocast_enabled("cpu")


@plain("is_autocast_enabled")
def is_autocast_enabled() -> bool:
    return torch.is_autocast_enabled()


@plain("is_grad_enabled")
def is_grad_enabled() -> bool:
    return torch.is_grad_enabled()


@plain("set_grad_enabled")
def set_grad_enabled(val: bool) -> None:
    torch.set_grad_enabled(val)


@plain("device")
def device(*parts: Any) -> torch.device:
    return torch.device(*parts)


@plain("wait", "prim::awaitable_wait")
def wait(future: Any) -> Any:
    return rt.wait(future)


@plain("prim::awaitable_nowait")
def nowait(value: Any) -> Any:
    return rt._awaitable_nowait(value)


@of_tensors("_indices")
def indices(x: Any) -> Any:
    return x._indices()


@of_tensors("_values")
def held(x: Any) -> Any:
    return x._values()


@plain("prim::MMTreeReduce")
def tree_of_products(*sides: torch.Tensor) -> torch.Tensor:
    half = len(sides) // 2
    left, right = sides[:half], sides[half:]
    if len({t.shape for t in left}) == len({t.shape for t in right}) == 1:
        return torch.mm(torch.cat(left, 1), torch.cat(right, 0))
    return functools.reduce(torch.add, map(torch.mm, left, right))


@of_tensors("_add_relu")
def add_relu(input: Any, other: Any, alpha: Any = 1, out: Any = None) -> torch.Tensor:
    total = torch.add(input, other, alpha=alpha, out=out)  # two lines: `out` need not be given
    return torch.relu_(total)


@of_tensors("_add_relu_")
def add_relu_(input: Any, other: Any, alpha: Any = 1) -> torch.Tensor:
    return torch.relu_(input.add_(other, alpha=alpha))


@plain("Generator")
def generator(device: Any, seed: int | None) -> torch.Generator:
    made = torch.Generator(device or "cpu")
    return made if seed is None else made.manual_seed(seed)


@plain("seed")
def seed(generator: torch.Generator) -> int:
    return generator.seed()


@plain("initial_seed")
def initial_seed(generator: torch.Generator) -> int:
    return generator.initial_seed()
