"""What PyTorch's kernels refuse, and in which words, when they are called by their own names."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch

_ATEN: Any = torch.ops.aten


def test_the_first_number_of_a_tensor() -> None:
    assert _ATEN._local_scalar_dense(torch.arange(3.0) + 2) == 2.0
    with pytest.raises(RuntimeError, match="_local_scalar_dense: Empty tensor not supported"):
        _ATEN._local_scalar_dense(torch.ones(0))


def test_a_softmax_that_widens() -> None:
    softmax: Any = getattr(torch, "_softmax")
    logs: Any = getattr(torch, "_log_softmax")
    for dtype in (torch.float16, torch.bfloat16):
        assert softmax(torch.empty(2, 3, dtype=dtype, device="meta"), 1, True).dtype is torch.float32
        assert softmax(torch.ones(2, 3, dtype=dtype), 1, False).dtype is dtype
        with pytest.raises(
            RuntimeError, match="softmax with half to float conversion is not supported on CPU"
        ):
            softmax(torch.ones(2, 3, dtype=dtype), 1, True)
    with pytest.raises(AssertionError, match=r"x.dtype is torch.bfloat16, expected torch.half"):
        logs(torch.empty(2, 3, dtype=torch.bfloat16, device="meta"), 1, True)
    with pytest.raises(AssertionError, match=r"x.dtype is torch.float32, expected half or bfloat16"):
        softmax(torch.empty(2, 3, device="meta"), 1, True)


def test_quantized_dtypes_have_no_sign() -> None:
    for name in ("qint8", "quint8", "qint32", "quint4x2"):
        with pytest.raises(RuntimeError, match="isSignedType not supported for quantized types"):
            _ = getattr(torch, name).is_signed
