"""Planned calls of elementwise kernels have NumPy's results, however operands lie and repeat."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.layout import result_memory
from rushlight._engine.kernels.loops.elementwise import plan
from rushlight._engine.kernels.loops.pointwise import pointwise
from rushlight._engine.kernels.runtime import parallel
from rushlight._engine.ops.expressions import symbol

pytestmark = pytest.mark.usefixtures("llvm")
rng = np.random.default_rng(5)


@pytest.fixture(params=[1, 3])
def threads(request):
    before = parallel.get_num_threads()
    parallel.set_num_threads(request.param)
    yield request.param
    parallel.set_num_threads(before)


def kernel(dtype):
    made = pointwise((symbol("a") + symbol("b"),), (("a", dtype), ("b", dtype)), (dtype,))
    assert made.compile_now()
    return made


def numbers(*shape, dtype="float32"):
    return rng.integers(-1000, 1000, shape).astype(dtype)


def pairs(dtype):
    """Operands that repeat, are turned, reversed, or have gaps."""
    a = numbers(40, 70, 60, dtype=dtype)
    images = np.moveaxis(numbers(4, 20, 30, 12, dtype=dtype), -1, 1)
    wide = numbers(3, 300, 400, dtype=dtype)
    yield a, numbers(60, dtype=dtype)
    yield a, numbers(70, 1, dtype=dtype)
    yield a, numbers(40, 1, 1, dtype=dtype)
    yield numbers(40, 1, 60, dtype=dtype), numbers(1, 70, 1, dtype=dtype)
    yield a.transpose(2, 0, 1), numbers(70, dtype=dtype)
    yield a[::2, ::-1, ::3], numbers(20, dtype=dtype)
    yield a, np.array(3, dtype)
    yield images, numbers(12, 1, 1, dtype=dtype)
    yield images, numbers(4, 12, 1, 1, dtype=dtype)
    yield images, np.ascontiguousarray(images)
    yield wide, numbers(400, dtype=dtype)
    yield wide.swapaxes(0, 2), numbers(300, 1, dtype=dtype)
    yield numbers(1, 1, dtype=dtype), wide
    yield numbers(70000, 2, dtype=dtype), numbers(2, dtype=dtype)
    yield numbers(43691, 3, dtype=dtype), numbers(3, dtype=dtype)  # some rows are left
    yield numbers(7, 5, dtype=dtype), numbers(5, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16"])
def test_planned_calls(dtype, threads):
    add = kernel(dtype)
    for a, b in pairs(dtype):
        expected, out = a + b, result_memory((a, b), np.dtype(dtype))
        planned = plan(add, (a, b), None)
        for found in [add.parallel(a, b), *([] if planned is None else planned((a, b), None))]:
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == dtype
            assert out is None or a.shape == b.shape or found.strides == out.strides
        into = np.full_like(expected, 7)
        add.parallel(a, b, out=into)
        np.testing.assert_array_equal(into, expected)


def test_results_in_operands_memory(threads):
    """Shifted by a row, or repeated: as if the operands had been read before."""
    add, a = kernel("float32"), numbers(401, 500)
    expected = a[:-1] + a[0]
    add.parallel(a[:-1], a[0], out=a[1:])
    np.testing.assert_array_equal(a[1:], expected)
    expected = a + a[3]
    add.parallel(a, a[3], out=a)
    np.testing.assert_array_equal(a, expected)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        add.parallel(a, a[3].copy(), out=a)


def test_out_is_written_to_where_it_lies():
    x, y = torch.randn(300, 300), torch.randn(300, 300)
    expected, out, version = x + y, torch.empty(300, 300), None
    version, place = out._version, out.data_ptr()
    assert torch.add(x, y, out=out) is out and out._version == version + 1 and out.data_ptr() == place
    assert torch.equal(out, expected)
    columns = torch.empty(300, 300).t()
    assert torch.equal(torch.add(x, y, out=columns), expected) and columns.stride() == (1, 300)
    before = x.clone()
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.add(x[:-1], y[0], out=x[1:])
    assert torch.equal(x, before)
    whole = torch.zeros(300, 300, dtype=torch.float64)
    assert torch.equal(torch.add(y, y, out=whole), (y + y).double())
    with pytest.raises(RuntimeError):
        torch.add(y, y, out=torch.zeros(1, 300).expand(300, 300))
