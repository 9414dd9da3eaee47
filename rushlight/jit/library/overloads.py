"""torch.functional's functions, as TorchScript: definitions of one name are overloads, tried in order."""

from __future__ import annotations

import rushlight as torch
from rushlight import Tensor
from rushlight.jit import annotate


class functional:
    def tensordot(a: Tensor, b: Tensor, dims: int = 2, out: Tensor | None = None):
        last = annotate(list[int], [])
        first = annotate(list[int], [])
        for i in range(dims):
            last.append(i - dims)
            first.append(i)
        if out is None:
            return torch.ops.aten.tensordot(a, b, last, first)
        return torch.ops.aten.tensordot(a, b, last, first, out=out)

    def tensordot(a: Tensor, b: Tensor, dims: tuple[list[int], list[int]], out: Tensor | None = None):
        if out is None:
            return torch.ops.aten.tensordot(a, b, dims[0], dims[1])
        return torch.ops.aten.tensordot(a, b, dims[0], dims[1], out=out)

    def tensordot(a: Tensor, b: Tensor, dims: list[list[int]], out: Tensor | None = None):
        if out is None:
            return torch.ops.aten.tensordot(a, b, dims[0], dims[1])
        return torch.ops.aten.tensordot(a, b, dims[0], dims[1], out=out)

    def unique(
        input: Tensor,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
    ):
        if dim is None:
            found, inverse, counts = torch.ops.aten._unique2(input, sorted, False, False)
        else:
            found, inverse, counts = torch.ops.aten.unique_dim(input, dim, sorted, False, False)
        return found

    def unique(
        input: Tensor,
        sorted: bool = True,
        return_inverse: bool = True,
        return_counts: bool = False,
        dim: int | None = None,
    ):
        if dim is None:
            found, inverse, counts = torch.ops.aten._unique2(input, sorted, True, False)
        else:
            found, inverse, counts = torch.ops.aten.unique_dim(input, dim, sorted, True, False)
        return found, inverse

    def unique(
        input: Tensor,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = True,
        dim: int | None = None,
    ):
        if dim is None:
            found, inverse, counts = torch.ops.aten._unique2(input, sorted, False, True)
        else:
            found, inverse, counts = torch.ops.aten.unique_dim(input, dim, sorted, False, True)
        return found, counts

    def unique(
        input: Tensor,
        sorted: bool = True,
        return_inverse: bool = True,
        return_counts: bool = True,
        dim: int | None = None,
    ):
        if dim is None:
            return torch.ops.aten._unique2(input, sorted, True, True)
        return torch.ops.aten.unique_dim(input, dim, sorted, True, True)

    def unique_consecutive(
        input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
    ):
        found, inverse, counts = torch.ops.aten.unique_consecutive(input, False, False, dim)
        return found

    def unique_consecutive(
        input: Tensor, return_inverse: bool = True, return_counts: bool = False, dim: int | None = None
    ):
        found, inverse, counts = torch.ops.aten.unique_consecutive(input, True, False, dim)
        return found, inverse

    def unique_consecutive(
        input: Tensor, return_inverse: bool = False, return_counts: bool = True, dim: int | None = None
    ):
        found, inverse, counts = torch.ops.aten.unique_consecutive(input, False, True, dim)
        return found, counts

    def unique_consecutive(
        input: Tensor, return_inverse: bool = True, return_counts: bool = True, dim: int | None = None
    ):
        return torch.ops.aten.unique_consecutive(input, True, True, dim)

    def stft(
        input: Tensor,
        n_fft: int,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Tensor | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        normalized: bool = False,
        onesided: bool | None = None,
        return_complex: bool | None = None,
        align_to_window: bool | None = None,
    ):
        return torch.ops.aten.stft(
            input,
            n_fft,
            hop_length,
            win_length,
            window,
            center,
            pad_mode,
            normalized,
            onesided,
            return_complex,
            align_to_window,
        )

    def norm(
        input: Tensor,
        p: str = "fro",
        dim: list[int] | None = None,
        keepdim: bool = False,
        dtype: int | None = None,
    ):
        if p == "nuc":
            return torch.ops.aten.linalg_matrix_norm(
                input, "nuc", [-2, -1] if dim is None else dim, keepdim, dtype=dtype
            )
        return torch.ops.aten.linalg_vector_norm(input, 2, dim, keepdim, dtype=dtype)

    def norm(
        input: Tensor, p: str = "fro", dim: int | None = None, keepdim: bool = False, dtype: int | None = None
    ):
        return torch.ops.aten.linalg_vector_norm(
            input, 2, None if dim is None else [dim], keepdim, dtype=dtype
        )

    def norm(
        input: Tensor,
        p: float | None,
        dim: list[int] | None = None,
        keepdim: bool = False,
        dtype: int | None = None,
    ):
        return torch.ops.aten.linalg_vector_norm(input, 2.0 if p is None else p, dim, keepdim, dtype=dtype)

    def norm(input: Tensor, p: float | None, dim: int, keepdim: bool = False, dtype: int | None = None):
        return torch.ops.aten.linalg_vector_norm(input, 2.0 if p is None else p, [dim], keepdim, dtype=dtype)

    def norm(
        input: Tensor, p: int, dim: list[int] | None = None, keepdim: bool = False, dtype: int | None = None
    ):
        return torch.ops.aten.linalg_vector_norm(input, p, dim, keepdim, dtype=dtype)

    def norm(input: Tensor, p: int, dim: int, keepdim: bool = False, dtype: int | None = None):
        return torch.ops.aten.linalg_vector_norm(input, p, [dim], keepdim, dtype=dtype)

    def cdist(
        x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
    ):
        mode = annotate(int | None, None)
        if compute_mode == "use_mm_for_euclid_dist":
            mode = 1
        elif compute_mode == "donot_use_mm_for_euclid_dist":
            mode = 2
        elif compute_mode != "use_mm_for_euclid_dist_if_necessary":
            raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
        return torch.ops.aten.cdist(x1, x2, p, mode)

    def lu(A: Tensor, pivot: bool = True):
        factors, pivots, info = torch.ops.aten.linalg_lu_factor_ex(A, pivot=pivot)
        return factors, pivots

    def _assert(condition: bool, message: str):
        assert condition, message

    def _assert(condition: Tensor, message: str):
        assert bool(condition), message
