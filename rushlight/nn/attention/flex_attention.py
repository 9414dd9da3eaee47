"""Attention whose scores and mask are Python functions of the positions (flex_attention).

`score_mod(score, batch, head, q_idx, kv_idx)` and `mask_mod(batch, head, q_idx, kv_idx)` get tensors
that broadcast to (B, H, Q, KV): indexing, comparing and arithmetic on them work as on numbers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import rushlight as torch

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """What flex_attention shall return besides its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for: the log-sum-exp and the maximum of each row of scores."""

    lse: Any = None
    max_scores: Any = None


FlexKernelOptions = dict  # accepted and ignored: there are no kernels to tune


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """A mask_mod that hides nothing."""
    return batch.new_ones((), dtype=torch.bool)


def _joined(join: Any, begin: bool, mask_mods: Any) -> Any:
    if not all(callable(m) for m in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")
    return lambda b, h, q_idx, kv_idx: reduce(
        join, (m(b, h, q_idx, kv_idx) for m in mask_mods), b.new_full((), begin, dtype=torch.bool)
    )


def and_masks(*mask_mods: Any) -> Any:
    """A mask_mod that shows what all of them show."""
    return _joined(operator.and_, True, mask_mods)


def or_masks(*mask_mods: Any) -> Any:
    """A mask_mod that shows what any of them shows."""
    return _joined(operator.or_, False, mask_mods)


def _positions(sizes: tuple[int, ...], device: Any) -> tuple[Any, ...]:
    """The index along each of four dims, in shapes that broadcast."""
    return tuple(
        torch.arange(n, device=device, dtype=torch.int32)[(...,) + (None,) * (3 - k)]
        for k, n in enumerate(sizes)
    )


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Any:
    """(B, H, Q, KV): a mask_mod's booleans, or a score_mod's changes of zero scores."""
    import inspect

    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    positions = _positions(shape, device)
    if len(inspect.signature(mod_fn).parameters) == 5:
        out = mod_fn(torch.zeros(shape, device=device), *positions)
        return torch.where(torch.isneginf(out), False, True).expand(shape)
    return mod_fn(*positions).expand(shape)


class BlockMask:
    """A mask_mod, its sizes, and which blocks of the score matrix it leaves, partly or fully: for each row of
    blocks their number (B, H, rows) and their indices (B, H, rows, columns), those that count first; the same
    by columns (q_...). Eager attention asks mask_mod alone, as PyTorch's does.
    """

    _TENSORS = (
        "kv_num_blocks",
        "kv_indices",
        "full_kv_num_blocks",
        "full_kv_indices",
        "q_num_blocks",
        "q_indices",
        "full_q_num_blocks",
        "full_q_indices",
    )

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any = None,
        full_kv_indices: Any = None,
        q_num_blocks: Any = None,
        q_indices: Any = None,
        full_q_num_blocks: Any = None,
        full_q_indices: Any = None,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: Any = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.seq_lengths = seq_lengths
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod
        for kind in ("full_kv", "q", "full_q"):
            number, indices = f"{kind}_num_blocks", f"{kind}_indices"
            if (getattr(self, number) is None) != (getattr(self, indices) is None):
                raise AssertionError(f"{number} and {indices} must be both provided or omitted")

    def _tensors(self) -> list[Any]:
        return [getattr(self, name) for name in self._TENSORS]

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any = None,
        full_kv_indices: Any = None,
        BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Any = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """The mask of what is known by rows; the blocks by columns follow, unless compute_q_blocks=False."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        columns: list[Any] = [None] * 4
        if compute_q_blocks:
            columns[:2] = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None:
                columns[2:] = _ordered(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        rows = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        mask_mod = noop_mask if mask_mod is None else mask_mod
        tensors = dict(zip(cls._TENSORS, (*rows, *columns), strict=True))
        return cls(seq_lengths, **tensors, BLOCK_SIZE=size, mask_mod=mask_mod)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All that it holds: lengths and block sizes one by one if `flatten`, else as pairs."""
        if flatten:
            return (*self.seq_lengths, *self._tensors(), *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *self._tensors(), self.BLOCK_SIZE, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, Q, KV)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads and rows of blocks."""
        places = index if isinstance(index, tuple) else (index,)
        # A number keeps its dim.
        places = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in places)
        number, indices, full_number, full_indices = (
            None if t is None else t[places] for t in self._tensors()[:4]
        )
        return BlockMask.from_kv_blocks(
            number,
            indices,
            full_number,
            full_indices,
            self.BLOCK_SIZE,
            compute_q_blocks=self.q_indices is not None,
        )

    def numel(self) -> int:
        """The number of scores."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Percentage of scores that are not computed; below 0 where blocks hang over the edge."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self) -> Any:
        """(B, H, blocks, blocks): 1 where a block is computed."""
        found = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            found = found | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return found.to(torch.int32)

    def to(self, device: Any) -> BlockMask:
        """The same mask, with its numbers on a device."""
        moved = {
            name: None if t is None else t.to(device)
            for name, t in zip(self._TENSORS, self._tensors(), strict=True)
        }
        return BlockMask(self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)

    def __repr__(self) -> str:
        return (
            f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, "
            f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)})"
        )


def _dense(count: Any, indices: Any) -> Any:
    """Booleans of the blocks that (number, indices) name."""
    named = torch.arange(indices.shape[-1], device=indices.device) < count.unsqueeze(-1)
    found = torch.zeros(indices.shape, dtype=torch.int32, device=indices.device)
    return found.scatter_add_(-1, indices.to(torch.int64), named.to(torch.int32)) > 0


def _blocks(mask: Any, size: tuple[int, int]) -> tuple[Any, Any]:
    """(any left, all left) of each block; what hangs over the edge counts as hidden."""
    q, kv = mask.shape[2:]
    padded = torch.nn.functional.pad(mask, (0, -kv % size[1], 0, -q % size[0]), value=False)
    tiles = padded.unflatten(3, (-1, size[1])).unflatten(2, (-1, size[0]))
    return tiles.any(5).any(3), tiles.all(5).all(3)


def _ordered(blocks: Any) -> tuple[Any, Any]:
    """(number, indices with those in question first) along the last dim."""
    count = blocks.sum(-1, dtype=torch.int32)
    order = torch.argsort(blocks.to(torch.int32), dim=-1, descending=True, stable=True)
    return count, order.to(torch.int32)


def create_block_mask(
    mask_mod: Any,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    **ignored: Any,
) -> BlockMask:
    """A BlockMask of `mask_mod`; None for B or H: the same mask for all batches or heads."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    any_left, all_left = _blocks(mask, size)
    partial, lengths = any_left & ~all_left, (Q_LEN, KV_LEN)
    return BlockMask.from_kv_blocks(*_ordered(partial), *_ordered(all_left), size, mask_mod, lengths)


def flex_attention(
    query: Any,
    key: Any,
    value: Any,
    score_mod: Any = None,
    block_mask: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(query @ key.T * scale)) @ value, where block_mask allows.

    query (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, V) -> (B, Hq, L, V). A row that is
    hidden altogether gives zeros. `return_lse`: also the log-sum-exp of the scores (B, Hq, L).
    """
    key, value = _checked(query, key, value, enable_gqa)
    B, H, Q, _ = query.shape
    KV = key.size(-2)
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    precise = torch.float64 if query.dtype is torch.float64 else torch.float32
    scores = ((query * factor) @ key.transpose(-2, -1)).to(precise)
    positions = _positions((B, H, Q, KV), query.device)
    if score_mod is not None:
        scores = score_mod(scores, *positions).to(precise)
    if block_mask is not None:
        _check_mask(block_mask, B, H, Q, KV)
        scores = torch.where(block_mask.mask_mod(*positions), scores, -math.inf)
    lse = torch.logsumexp(scores, -1)
    weights = torch.softmax(scores, -1).masked_fill((lse == -math.inf).unsqueeze(-1), 0.0)
    output = weights.to(query.dtype) @ value
    if return_aux is not None:
        return output, AuxOutput(
            lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None
        )
    return (output, lse) if return_lse else output


def _checked(query: Any, key: Any, value: Any, enable_gqa: bool) -> tuple[Any, Any]:
    for name, t in (("query", query), ("key", key), ("value", value)):
        if t.dim() != 4:
            raise NotImplementedError(f"NYI: query, key, and value must be 4D tensors, got {t.dim()}D {name}")
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise ValueError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    many, few = query.size(1), key.size(1)
    if not enable_gqa and many != few:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={many} and Hkv={few}. Try setting enable_gqa=True for GQA."
        )
    if many % few:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={many} and Hkv={few}."
        )
    if many != few:
        key, value = (t.repeat_interleave(many // few, 1) for t in (key, value))
    return key, value


def _check_mask(mask: BlockMask, B: int, H: int, Q: int, KV: int) -> None:
    b, h, q, kv = mask.shape
    if (b not in (1, B)) or (h not in (1, H)) or q < Q or kv < KV:
        raise ValueError(
            f"block_mask was created for block_mask.shape={mask.shape} but got q_len={Q} "
            f"and kv_len={KV} with B={B}, H={H}. As the block mask was created for a "
            "smaller length than you're using it for, create a new one."
        )


__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]
