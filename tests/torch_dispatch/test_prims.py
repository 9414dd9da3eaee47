"""torch._prims, torch._refs and torch._prims_common."""

from __future__ import annotations

import importlib

import pytest

import rushlight as torch
from rushlight import _prims as prims, _prims_common as utils, _refs as refs
from rushlight._prims.context import TorchRefsMode
from rushlight._prims.executor import make_traced
from rushlight._prims.rng_prims import run_and_save_rng_state, run_with_rng_state
from rushlight.testing import assert_close

KIND = utils.ELEMENTWISE_TYPE_PROMOTION_KIND


def test_a_primitive_op_is_registered() -> None:
    assert str(prims.sin) == "prims.sin.default" and prims.sin is torch.ops.prims.sin.default
    assert str(prims.add._schema) == "prims::add(Tensor self, Tensor other) -> Tensor"
    assert prims.utils is utils


def test_primitive_ops_promote_and_broadcast_nothing() -> None:
    x = torch.arange(6.0).view(2, 3)
    assert_close(prims.add(x, x), x + x)
    assert_close(prims.mul(x, 1 + 1j), x * (1 + 1j))
    with pytest.raises(RuntimeError, match="is not the expected dtype"):
        prims.add(x, x.double())
    with pytest.raises(RuntimeError, match="is not the expected shape"):
        prims.add(x, x[0])
    assert prims.div(torch.tensor([7, -7]), torch.tensor([2, 2])).tolist() == [3, -3]
    assert_close(prims.cbrt(torch.tensor([8.0, -27.0])), torch.tensor([2.0, -3.0]))
    with pytest.raises(RuntimeError, match="Only complex dtype is supported"):
        prims.real(x)


def test_primitive_views() -> None:
    x = torch.arange(24.0).view(2, 3, 4)
    assert prims.collapse(x, 0, 1).shape == (6, 4) and not prims.collapse(x, 0, 1)._is_view()
    assert prims.collapse_view(x, 1, 2)._is_view()
    with pytest.raises(RuntimeError, match="no such view exists"):
        prims.collapse_view(x.transpose(0, 1), 0, 2)
    with pytest.raises(AssertionError):
        prims.collapse(x, -1, 1)
    assert prims.broadcast_in_dim(x, (5, 2, 3, 4), (1, 2, 3)).shape == (5, 2, 3, 4)
    with pytest.raises(AssertionError, match="strictly ascending"):
        prims.broadcast_in_dim(x, (5, 2, 3, 4), (1, 3, 2))
    assert prims.expand_dims(x, (0, 2)).shape == (1, 2, 1, 3, 4)
    assert prims.split_dim(x, 2, 2).shape == (2, 3, 2, 2)
    assert prims.view_element_type(x, torch.int32).dtype is torch.int32


def test_primitive_reductions_and_factories() -> None:
    x = torch.arange(6.0).view(2, 3)
    assert prims.sum(x, [0]).tolist() == [3.0, 5.0, 7.0] and prims.prod(x, None).item() == 0
    assert prims.amax(x, [1], output_dtype=torch.float64).dtype is torch.float64
    made = prims.iota(3, start=2, step=3, dtype=torch.int64, device="cpu", requires_grad=False)
    assert made.tolist() == [2, 5, 8]
    assert prims.maximum_value(torch.int8) == 127 and prims.minimum_value(torch.bool) is False
    assert_close(prims.fft_r2c(x, dim=(1,), onesided=True), torch.fft.rfft(x))


def test_a_reference_is_the_op() -> None:
    x = torch.arange(6.0).view(2, 3)
    assert_close(refs.add(x, 1), x + 1)
    assert refs.reshape(x, 3, 2).shape == (3, 2) and refs.T(x).shape == (3, 2)
    assert_close(refs.nn.functional.gelu(x), torch.nn.functional.gelu(x))
    assert_close(importlib.import_module("rushlight._refs.linalg").norm(x), x.norm())
    assert refs.rpow(x, 2.0)[0, 2].item() == 4.0 and refs.trunc_divide(x, 2)[1, 2].item() == 2.0
    assert not hasattr(refs, "no_such_op")
    with TorchRefsMode(strict=True):
        assert_close(torch.exp(x), refs.exp(x))
    assert_close(make_traced(torch.add)(x, x), x + x)


def test_random_numbers_are_drawn_again() -> None:
    state, first = run_and_save_rng_state(torch.rand, 3)
    torch.rand(5)
    before = torch.get_rng_state()
    assert run_with_rng_state(state, torch.rand, 3).equal(first)
    assert torch.get_rng_state().equal(before)


@pytest.mark.parametrize(
    ("args", "kind", "found"),
    [
        ((torch.zeros(2, dtype=torch.int64), 1.5), KIND.DEFAULT, (torch.float32, torch.float32)),
        ((torch.zeros(2, dtype=torch.float16),), KIND.DEFAULT, (torch.float32, torch.float16)),
        ((torch.zeros(2, dtype=torch.float16),), KIND.NO_OPMATH, (torch.float16, torch.float16)),
        ((torch.zeros(2, dtype=torch.bool),), KIND.BOOL_TO_LONG, (torch.int64, torch.int64)),
        ((torch.zeros(2), 1j), KIND.COMPLEX_TO_FLOAT, (torch.complex64, torch.float32)),
        ((1, True), KIND.INT_TO_FLOAT, (torch.float32, torch.float32)),
        ((1, 2.0), KIND.ALWAYS_BOOL, (torch.float32, torch.bool)),
    ],
)
def test_elementwise_dtypes(args, kind, found) -> None:
    assert utils.elementwise_dtypes(*args, type_promotion_kind=kind) == found


def test_strides_and_formats() -> None:
    assert utils.make_contiguous_strides_for((2, 0, 3)) == (3, 3, 1)
    assert utils.make_contiguous_strides_for((2, 3, 4), row_major=False) == (12, 1, 3)
    assert utils.make_channels_last_strides_for((2, 3, 4, 5)) == (60, 1, 15, 3)
    last = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert utils.suggest_memory_format(last) is torch.channels_last
    assert utils.is_non_overlapping_and_dense_or_false(last[:1]) and not utils.is_contiguous(last)
    with pytest.raises(RuntimeError, match="Stride mismatch"):
        utils.compare_tensor_meta(torch.zeros(2, 3), torch.zeros(3, 2).t(), check_strides=True)
    part = torch.arange(12)[2:].view(2, 5)[:, 1:3]
    assert utils.clone_preserve_strides(part).stride() == part.stride()


def test_shapes() -> None:
    assert utils.canonicalize_dims(3, (0, -1)) == (0, 2) and utils.reduction_dims((2, 3), None) == (0, 1)
    with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 5"):
        utils.canonicalize_dim(2, 5)
    assert utils.infer_size((2, -1), 6) == (2, 3) and utils.infer_size_shapes((2, 1), (3,)) == (2, 3)
    with pytest.raises(RuntimeError, match=r"shape '\[-1, 4\]' is invalid for input of size 10"):
        utils.infer_size((-1, 4), 10)
    assert utils.invert_perm((2, 0, 1)) == [1, 2, 0] and utils.is_expandable_to((1, 3), (5, 2, 3))
    with pytest.warns(FutureWarning, match="will be removed in the future"):
        utils.check(True, lambda: "never said")


def test_prims_refuse_what_is_none_of_theirs() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for call, error, words in (
        (lambda: prims.add(x, torch.tensor(2)), RuntimeError, "expected dtype of torch.float32"),
        (lambda: prims.collapse_view(x.t(), 0, 1), RuntimeError, "no such view exists"),
        (lambda: prims.broadcast_in_dim(x[0], (2, 4), (1,)), RuntimeError, "3 must be broadcastable to 4"),
        (lambda: prims.transpose(x, [1, 1]), ValueError, "invalid permutation"),
        (lambda: prims.reshape(x, [-1]), RuntimeError, "."),
        (lambda: prims.split_dim(x, -1, 3), AssertionError, "out of bounds"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert prims.sum(x, []) == 15
    assert prims.maximum_value(torch.complex64) == torch.finfo(torch.float32).max


def test_half_precision_has_complex_numbers() -> None:
    assert utils.corresponding_complex_dtype(torch.float16) is torch.complex32
    assert utils.corresponding_real_dtype(torch.complex32) is torch.float16 is torch.complex32.to_real()
    with pytest.raises(KeyError):
        utils.corresponding_real_dtype(torch.float32)
    assert utils.elementwise_dtypes(type_promotion_kind=KIND.DEFAULT) == (torch.bool, torch.bool)


def test_references_of_transforms_are_functions() -> None:
    assert_close(refs.fft.fft(torch.ones(4)), torch.fft.fft(torch.ones(4)))
    assert refs.is_complex(torch.ones(1, dtype=torch.complex64))
