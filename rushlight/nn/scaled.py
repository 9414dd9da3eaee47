"""Products of groups of rows, and of operands with scales (torch.nn.functional.grouped_mm, scaled_mm)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import rushlight as torch
from rushlight._engine.core.errors import check_multipliable

Tensor = torch.Tensor


class ScalingType(IntEnum):
    """What a scale is for: a whole tensor, a row, a block of a row or of a matrix."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(IntEnum):
    """How scales are laid out."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def _rows(offs: Tensor, total: int) -> list[tuple[int, int]]:
    """Where each group begins and ends."""
    ends = [int(end) for end in offs.tolist()]
    if any(end > total for end in ends):
        raise RuntimeError(f"offs expected to end within {total}, got {ends}")
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _grouped(
    a: Tensor, b: Tensor, offs: Tensor | None, dtype: Any, product: Callable[[Tensor, Tensor, int], Tensor]
) -> Tensor:
    """product(part of a, part of b, group) for each group.

    a (M, K), b (G, K, N): rows of `a` to the ends `offs` (G,). a (G, M, K), b (K, N): columns of `b`.
    a (M, K), b (K, N): parts of K, which give (G, M, N). a (G, M, K), b (G, K, N): no offs.
    """
    if a.dim() not in (2, 3) or b.dim() not in (2, 3):
        raise RuntimeError(f"mat_a and mat_b have to be 2 or 3 dimensional, got {a.dim()} and {b.dim()}")
    if (offs is None) != (a.dim() == 3 and b.dim() == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both are 3d")
    if offs is None:
        return torch.stack([product(a[g], b[g], g) for g in range(len(a))]).to(dtype)
    if a.dim() == 2 and b.dim() == 2:
        parts = enumerate(_rows(offs, a.shape[1]))
        return torch.stack([product(a[:, i:j], b[i:j], g) for g, (i, j) in parts]).to(dtype)
    if a.dim() == 2:
        found = a.new_zeros(a.shape[0], b.shape[-1], dtype=dtype)
        spans = _rows(offs, a.shape[0])
        rows = [product(a[i:j], b[g], g).to(dtype) for g, (i, j) in enumerate(spans)]
        return torch.cat([*rows, found[spans[-1][1] :]])
    spans = _rows(offs, b.shape[1])
    return torch.cat([product(a[g], b[:, i:j], g).to(dtype) for g, (i, j) in enumerate(spans)], 1)


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """Products of groups: mat_a (M, K) whose rows end at offs (G,) with mat_b (G, K, N), and the like (see
    `_grouped`), in mat_a's dtype. A bias is refused, as by PyTorch.
    """
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError(f"Only {mat_a.dtype} is supported as the output's dtype here, got {out_dtype}")
    return _grouped(mat_a, mat_b, offs, mat_a.dtype, lambda a, b, group: a @ b)


def _grouped_mm(
    self: Tensor,
    mat2: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """torch.nn.functional.grouped_mm."""
    return grouped_mm(self, mat2, offs=offs, bias=bias, out_dtype=out_dtype)


def _scaled(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    return (a.float() * scale_a) @ (b.float() * scale_b)


def _scaled_mm(
    self: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: Any = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """(self * scale_a) @ (mat2 * scale_b) + bias of float8 matrices, in out_dtype (self's). The scales are of
    one element, or (M, 1) and (1, N).
    """
    sizes = ((self.shape[0], 1), (1, mat2.shape[1]))
    check_multipliable(self.shape, mat2.shape)
    for scale, size in zip((scale_a, scale_b), sizes, strict=True):
        if scale.numel() != 1 and tuple(scale.shape) != size:
            raise ValueError(f"Invalid scaling: expected one element or {size}, got {tuple(scale.shape)}")
    found = _scaled(self, mat2, scale_a, scale_b)
    if bias is not None:
        found = found + bias.float()
    if scale_result is not None and out_dtype in (None, torch.float8_e4m3fn, torch.float8_e5m2):
        found = found * scale_result
    return found.to(self.dtype if out_dtype is None else out_dtype)


def _scaled_grouped_mm(
    self: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: Any = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """`_grouped_mm` of float8 matrices with a scale for each row of self and each column of mat2: (M,) or
    (G, M), and (N,) or (G, N); in out_dtype (bfloat16).
    """
    if bias is not None or scale_result is not None:
        raise RuntimeError("Bias and scale_result not supported yet")
    rows = scale_a.reshape(-1) if self.dim() == 2 else scale_a
    columns = scale_b.reshape(-1) if mat2.dim() == 2 else scale_b
    a = self.float() * rows[: rows.shape[0]].unsqueeze(-1) if rows.numel() == self[..., 0].numel() else None
    b = mat2.float() * columns.unsqueeze(-2) if columns.numel() == mat2[..., 0, :].numel() else None
    if a is None or b is None:
        raise RuntimeError(
            f"scales for rows of self and columns of mat2 expected, of sizes {tuple(self[..., 0].shape)} and "
            f"{tuple(mat2[..., 0, :].shape)}, got {tuple(scale_a.shape)} and {tuple(scale_b.shape)}"
        )
    dtype = torch.bfloat16 if out_dtype is None else out_dtype
    return _grouped(a, b, offs, dtype, lambda x, y, group: x @ y)


def _plain(given: Tensor | Sequence[Tensor], recipe: Any, swizzle: Any) -> Tensor:
    """The one scale of an operand; NotImplementedError for blocks and swizzles."""
    scales = list(given) if isinstance(given, Sequence) else [given]
    recipes, swizzles = (list(v) if isinstance(v, Sequence) else [v] for v in (recipe, swizzle))
    known = (ScalingType.TensorWise, ScalingType.RowWise)
    if len(scales) != 1 or recipes[0] not in known or any(swizzles):
        raise NotImplementedError(
            f"scales of kinds {[r.name for r in recipes]} with swizzles {swizzles} are not there in "
            "Rushlight; use ScalingType.TensorWise or RowWise without a swizzle"
        )
    return scales[0]


def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Any,
    scale_recipe_a: Any,
    scale_b: Any,
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    output_dtype: Any = torch.bfloat16,
    contraction_dim: Any = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """(mat_a * scale_a) @ (mat_b * scale_b) + bias in output_dtype, with a scale for each tensor or row."""
    first, second = _plain(scale_a, scale_recipe_a, swizzle_a), _plain(scale_b, scale_recipe_b, swizzle_b)
    return _scaled_mm(mat_a, mat_b, first, second, bias, None, output_dtype, use_fast_accum)


def scaled_grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Any,
    scale_recipe_a: Any,
    scale_b: Any,
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    offs: Tensor | None = None,
    output_dtype: Any = torch.bfloat16,
    contraction_dim: Any = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """`grouped_mm` with a scale for each row of mat_a and each column of mat_b, in output_dtype."""
    first, second = _plain(scale_a, scale_recipe_a, swizzle_a), _plain(scale_b, scale_recipe_b, swizzle_b)
    return _scaled_grouped_mm(mat_a, mat_b, first, second, offs, bias, None, output_dtype, use_fast_accum)


__all__ = ["ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm"]
