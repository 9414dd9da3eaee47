"""Rows of a plane whose length is no multiple of a vector: same bits, and nothing is read behind an operand."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest

import rushlight as torch

pytestmark = pytest.mark.usefixtures("llvm")
LENGTHS = (17, 24, 31, 33, 62, 100, 127, 300)


def _warm(call: object) -> torch.Tensor:
    """What a later call gives, by machine code."""
    for _ in range(3):
        call()  # type: ignore[operator]
    return call()  # type: ignore[operator, no-any-return]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bfloat16"])
def test_rows_with_what_repeats(n: int, dtype: str) -> None:
    torch.manual_seed(n)
    rows = 70000 // n
    of = getattr(torch, dtype)
    x, y, column, row = (
        torch.randint(-9, 9, shape).to(of) for shape in ((rows, n), (rows, n), (rows, 1), (n,))
    )
    for other in (column, row, y.flip(0), torch.cat([y, y], 1)[:, :n]):
        wanted = torch.from_numpy((x.double().numpy() * other.double().numpy()).astype("float64")).to(of)
        assert torch.equal(_warm(lambda other=other: x * other), wanted)
        out = torch.full((rows, n + 3), 7).to(of)
        torch.mul(x, other, out=out[:, :n])
        assert torch.equal(out[:, :n], wanted) and bool((out[:, n:] == 7).all())
        written = x.clone()
        assert torch.equal(written.mul_(other), wanted)


@pytest.mark.parametrize("n", [17, 31, 100])
def test_nothing_behind_an_operand_is_read(n: int) -> None:
    page, rows = mmap.PAGESIZE, 4000
    size = -(-rows * n * 4 // page) * page
    memory = mmap.mmap(-1, size + page)
    view = ctypes.c_char.from_buffer(memory)
    libc = ctypes.CDLL(None)
    end = ctypes.c_void_p(ctypes.addressof(view) + size)
    assert libc.mprotect(end, page, 0) == 0  # whoever reads it is ended
    try:
        whole = np.frombuffer(memory, np.float32, size // 4)
        for count, shape in ((rows * n, (rows, n)), (n, (n,)), (rows, (rows, 1))):
            last = torch.from_numpy(whole[size // 4 - count :].reshape(shape))
            last.copy_(torch.arange(count).reshape(shape) % 5)
            x = torch.ones(rows, n) * 3
            assert torch.equal(
                _warm(lambda x=x, last=last: x * last), torch.from_numpy(x.numpy() * last.numpy())
            )
            del last
        del whole
    finally:
        assert libc.mprotect(end, page, 3) == 0


@pytest.mark.parametrize("rows", [199, 200, 1700])
def test_rows_of_few_elements_have_the_bits_of_numpys_loop(rows: int) -> None:
    x, across, along = torch.randn(rows, 85), torch.randn(85), torch.randn(rows, 1)
    for other in (across, along):
        assert np.array_equal(_warm(lambda other=other: x * other).numpy(), x.numpy() * other.numpy())
        assert torch.equal(_warm(lambda other=other: torch.addcmul(x, x, other)), torch.addcmul(x, x, other))
