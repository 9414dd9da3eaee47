"""Every row inside compile(): recorded, fused, laid out, replayed, and equal to eager bit by bit."""

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from tests.engine.ops.test_laws import ALL, IDS, call, flat, tensors_of


def scaled(by):
    def change(a):
        return np.asarray(a * by) if a.dtype.kind in "fc" else a

    return change


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("row", "sample"), ALL, ids=IDS)
def test_compiled_equals_eager(row, sample):
    with settings.using(kernels="llvm"):

        def function(arguments):
            found = call(row, arguments)
            # Something to fuse with, before and after.
            return found, [t * 2 if t.dtype.is_floating_point else t for t in flat(found)]

        compiled = torch.compile(function, mode="reduce-overhead")
        for number in range(5):
            results = []
            for run in (function, compiled):
                torch.manual_seed(number)
                # Within the domains that samples lie in: towards zero.
                results.append(flat(run(tensors_of(sample, scaled(1 - number / 64)))))
            for a, b in zip(*results, strict=True):
                assert a.dtype == b.dtype and a.shape == b.shape
                assert a.numpy().tobytes() == b.numpy().tobytes(), (number, np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("classes", [1, 2, 3, 8, 9, 40])
def test_elements_are_picked_from_rows_that_share_a_vector(classes: int, dtype: str) -> None:
    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(x, y, reduction="none")

    compiled = torch.compile(loss, mode="reduce-overhead")
    for _ in range(4):
        x, y = torch.randn(13, classes, dtype=getattr(torch, dtype)), torch.randint(classes, (13,))
        y[3] = -100
        found = compiled(x, y)
        assert found.equal(torch.cat([loss(x[i : i + 1], y[i : i + 1]) for i in range(13)]))
