"""Convolutions in machine code equal those by columns, in all three directions."""

import random

import ml_dtypes
import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.products import convolution as kernels, tiles
from rushlight._engine.ops.nn import convolution
from rushlight._engine.ops.nn.sliding_windows import out_size

pytest.importorskip("llvmlite")


def _calls(dims, dtype, draw, last=False, whole=False):
    """The three products of a convolution of drawn sizes; whole: of small whole numbers, with exact sums."""
    rng = np.random.default_rng(draw.randint(0, 1 << 30))
    groups = draw.choice((1, 1, 1, 2, 3))
    kernel = tuple(draw.randint(1, 4) for _ in range(dims))
    stride, padding, dilation = (
        tuple(draw.randint(low, high) for _ in range(dims)) for low, high in ((1, 3), (0, 3), (1, 2))
    )
    space = tuple(
        max(draw.randint(1, 14), d * (k - 1) + 1 - 2 * p)
        for k, p, d in zip(kernel, padding, dilation, strict=True)
    )
    out = tuple(out_size(*of) for of in zip(space, kernel, stride, padding, dilation, strict=True))
    channels, outs = (groups * draw.randint(1, 20) for _ in range(2))
    n = draw.randint(1, 9)
    x, w, g = (
        (np.rint if whole else np.asarray)(rng.standard_normal(shape)).astype(dtype)
        for shape in ((n, channels, *space), (outs, channels // groups, *kernel), (n, outs, *out))
    )
    if last:
        x, g = (np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1) for a in (x, g))
    how = stride, padding, dilation, groups
    return [
        lambda: convolution._convolution.body(x, w, *how),
        lambda: convolution._convolution_input.body(g, w, space, *how),
        lambda: convolution._convolution_weight.body(g, x, kernel, *how),
    ]


@pytest.mark.parametrize("seed", range(60))
def test_tiles_and_columns_agree(seed, monkeypatch):
    draw = random.Random(seed)
    dtype = (np.float32, np.float64)[seed % 2]
    calls = _calls(draw.choice((1, 2, 2, 3)), dtype, draw, last=seed % 5 == 0)
    torch.nn.functional.conv1d  # loads the dispatcher, which registers the kernels
    found = [call() for call in calls]
    monkeypatch.setattr(convolution, "service", lambda *_: lambda *_: None)
    for call, a in zip(calls, found, strict=True):
        expected = call()
        assert a.shape == expected.shape and a.dtype == expected.dtype
        np.testing.assert_allclose(
            a,
            expected,
            rtol=1e-3 if dtype is np.float32 else 1e-9,
            atol=3e-4 if dtype is np.float32 else 1e-11,
        )


@pytest.mark.parametrize("seed", range(40))
def test_bfloat16_is_summed_in_float32_and_rounded_once(seed):
    dims = seed % 3 + 1
    exact, found = (
        [call() for call in _calls(dims, dtype, random.Random(seed), last=seed % 5 == 0, whole=True)]
        for dtype in (np.float64, ml_dtypes.bfloat16)
    )
    for a, b in zip(found, exact, strict=True):
        assert a.dtype == ml_dtypes.bfloat16
        np.testing.assert_array_equal(a, b.astype(ml_dtypes.bfloat16))


def test_taps_that_follow_each_other_are_no_halves_of_pairs():
    rng = np.random.default_rng(0)
    g, w = (np.rint(rng.standard_normal(shape)) for shape in ((1, 6, 3, 4, 8), (6, 10, 3, 4, 4)))
    how = (5, 7, 18), (1, 1, 2), (0, 0, 0), (1, 1, 1), 1  # a class has every second tap: 4 bytes on
    exact, found = (
        convolution._convolution_input.body(g.astype(of), w.astype(of), *how)
        for of in (np.float64, ml_dtypes.bfloat16)
    )
    np.testing.assert_array_equal(found, exact.astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("last", [False, True])
def test_bfloat16_of_few_places_and_many_filters(last):
    rng = np.random.default_rng(0)
    x, w, g = (
        np.rint(rng.standard_normal(shape)) for shape in ((2, 96, 3, 3), (192, 96, 3, 3), (2, 192, 3, 3))
    )
    if last:
        x, w, g = (np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1) for a in (x, w, g))
    how = (1, 1), (1, 1), (1, 1), 1
    for which, a, b, more in (("forward", x, w, ()), ("to_input", g, w, ((3, 3),))):
        exact, found = (
            (convolution._convolution if which == "forward" else convolution._convolution_input).body(
                a.astype(of), b.astype(of), *more, *how
            )
            for of in (np.float64, ml_dtypes.bfloat16)
        )
        np.testing.assert_array_equal(found, exact.astype(ml_dtypes.bfloat16))


def test_results_have_channels_last_where_an_operand_has():
    x, w = torch.randn(2, 20, 6, 7, requires_grad=True), torch.randn(40, 20, 3, 3)
    plain = torch.nn.functional.conv2d(x, w)
    assert plain.is_contiguous()
    for a, b in (
        (x.contiguous(memory_format=torch.channels_last), w),
        (x, w.contiguous(memory_format=torch.channels_last)),
    ):
        found = torch.nn.functional.conv2d(a, b)
        assert found.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(found, plain.detach(), check_stride=False)


def test_any_number_of_threads_gives_the_same_bits():
    draw = random.Random(1)
    before = torch.get_num_threads()
    x, w, g = torch.randn(8, 16, 20, 20), torch.randn(24, 16, 3, 3), torch.randn(8, 24, 20, 20)
    how = (1, 1), (1, 1), (1, 1), 1
    found = []
    try:
        for threads in (1, 2, 3, draw.randint(4, 7)):
            torch.set_num_threads(threads)
            found.append(
                [
                    a.tobytes()
                    for a in (
                        convolution._convolution.body(x._array, w._array, *how),
                        convolution._convolution_input.body(g._array, w._array, (20, 20), *how),
                        convolution._convolution_weight.body(g._array, x._array, (3, 3), *how),
                    )
                ]
            )
    finally:
        torch.set_num_threads(before)
    assert all(f == found[0] for f in found)


def test_two_byte_floats_keep_their_dtype():
    x, w = np.ones((2, 8, 5), np.float16), np.ones((8, 8, 3), np.float16)
    assert convolution._convolution.body(x, w, (1,), (1,), (1,), 1).dtype == np.float16


def test_a_gradient_too_large_to_be_packed_is_taken_in_parts(monkeypatch):
    from rushlight._engine.kernels.products import convolution as convolve

    rng = np.random.default_rng(0)
    x, g = rng.standard_normal((5, 3, 9, 9)), rng.standard_normal((5, 2, 7, 7))
    how = (3, 3), (1, 1), (0, 0), (1, 1), 1
    whole = convolve.convolution("to_weight", x, g, *how)(x, g)
    monkeypatch.setattr(convolve, "_WORKSPACE", 1)
    np.testing.assert_allclose(convolve.convolution("to_weight", x, g, *how)(x, g), whole, rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 5, 97])
def test_a_packed_matrix_of_bfloat16(rows):
    """Rows are rounded to bfloat16, products are summed in float32."""
    rng = np.random.default_rng(rows)
    w = rng.standard_normal((64, 70)).astype(ml_dtypes.bfloat16)
    x, out = rng.standard_normal((rows, 64)).astype("float32"), np.empty((rows, 70), "float32")
    made = tiles.packed(w)
    if not target.pairs():
        assert made is None
        return
    expected = x.astype(ml_dtypes.bfloat16).astype("float64") @ w.astype("float64")
    made(x, out)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)
    w[...] = -w
    made.again()
    made(x, out)
    np.testing.assert_allclose(out, -expected, rtol=1e-4, atol=1e-4)
    assert tiles.packed(w[:63]) is None


@pytest.mark.parametrize("compiled", [False, True])
def test_padded_channels_last_have_the_bits_of_rows(compiled):
    """What is padded keeps its own memory format; sums go by channels and taps in both."""
    x, w, g = torch.randn(2, 18, 9, 11), torch.randn(20, 18, 3, 3), torch.randn(2, 20, 9, 11)

    def step(x, w):
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        found = torch.nn.functional.conv2d(x, w, padding=1)
        found.backward(g)
        return found.detach(), x.grad, w.grad

    run = torch.compile(step) if compiled else step
    for _ in range(4):
        rows = run(x, w)
        last = run(x.contiguous(memory_format=torch.channels_last), w)
    assert all(a.equal(b) for a, b in zip(rows[:2], last[:2], strict=True))
    torch.testing.assert_close(rows[2], last[2])


def test_windows_that_fill_half_a_line_are_packed_instead_of_many_filters():
    lanes = target.lanes("float32")
    g, w = np.ones((lanes // 4, 256, 2, 2), np.float32), np.ones((256, 256, 3, 3), np.float32)
    plan = kernels.planned("to_input", g, w, (2, 2), (1, 1), (1, 1), (1, 1), 1)
    assert plan.turned
    assert tiles.effort(64, lanes, 0, g.dtype) * 2 == tiles.effort(64, lanes + 1, 0, g.dtype)


@pytest.mark.parametrize("pairs", [False, True])
def test_filters_are_read_in_the_order_of_their_memory(pairs):
    form = kernels._Form(np.dtype(np.float32), pairs and target.pairs())
    dtype = ml_dtypes.bfloat16 if form.pairs else np.float32
    x, w = np.ones((1, 8, 20, 20), dtype), np.ones((4, 3, 3, 8), dtype).transpose(0, 3, 1, 2)
    layouts = [kernels._Layout(a.shape, a.strides) for a in (x, w)]
    plan = kernels.forward(form, *layouts, (1, 1), (0, 0), (1, 1), 1, (18, 18))
    rows = plan.kept[0][: 72 // form.deep]
    assert (np.diff(rows) == form.deep * x.itemsize).all()
