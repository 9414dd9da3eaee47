"""Products of groups and of operands with scales; block masks made of indices."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.nn import functional as F
from rushlight.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention


def test_groups_of_rows_columns_and_inner_dims() -> None:
    a, b, offs = torch.randn(8, 16), torch.randn(2, 16, 8), torch.tensor([3, 8], dtype=torch.int32)
    assert torch.allclose(F.grouped_mm(a, b, offs=offs), torch.cat([a[:3] @ b[0], a[3:] @ b[1]]))
    assert torch.allclose(F.grouped_mm(a.t(), a, offs=offs)[1], a[3:].t() @ a[3:])
    assert torch.equal(torch._grouped_mm(b, b.mT), b @ b.mT)
    wide = torch.randn(16, 8)
    assert torch.allclose(
        F.grouped_mm(b.mT, wide, offs=offs), torch.cat([b[0].mT @ wide[:, :3], b[1].mT @ wide[:, 3:]], 1)
    )
    with pytest.raises(RuntimeError, match="offsets"):
        F.grouped_mm(a, b)


def test_scales() -> None:
    x = torch.randn(8, 16).to(torch.float8_e4m3fn)
    y = torch.randn(8, 16).to(torch.float8_e4m3fn).t()
    plain, two, rows = x.float() @ y.float(), torch.tensor(2.0), torch.rand(8, 1)
    assert torch.equal(torch._scaled_mm(x, y, two, two, out_dtype=torch.bfloat16), (4 * plain).bfloat16())
    found = torch._scaled_mm(x, y, rows, rows.t(), out_dtype=torch.float32)
    assert torch.allclose(found, plain * rows * rows.t(), atol=1e-4)
    kind = F.ScalingType.TensorWise
    assert torch.equal(F.scaled_mm(x, y, two, kind, two, kind), (4 * plain).bfloat16())
    with pytest.raises(ValueError, match="Invalid scaling"):
        torch._scaled_mm(x, y, torch.ones(3), two)
    with pytest.raises(NotImplementedError, match="BlockWise1x16"):
        F.scaled_mm(x, y, two, F.ScalingType.BlockWise1x16, two, kind)


def _causal(b, h, q, k):
    return q >= k


def test_block_masks_of_indices() -> None:
    mask = create_block_mask(_causal, 1, 1, 300, 300, BLOCK_SIZE=64)
    rows = (mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices)
    again = BlockMask.from_kv_blocks(*rows, BLOCK_SIZE=64, mask_mod=_causal)
    assert again.shape == (1, 1, 320, 320) and mask.shape == (1, 1, 300, 300)
    assert torch.equal(again.q_indices, mask.q_indices) and torch.equal(again.to_dense(), mask.to_dense())
    query = torch.randn(1, 2, 300, 8)
    assert torch.equal(
        flex_attention(query, query, query, block_mask=mask),
        flex_attention(query, query, query, block_mask=again),
    )
    assert mask[:, :, 1:3].kv_num_blocks.shape == (1, 1, 2) and mask.to("cpu").mask_mod is _causal
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        BlockMask.from_kv_blocks(torch.ones(3), torch.ones(3))
