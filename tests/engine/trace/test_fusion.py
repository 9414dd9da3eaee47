"""Which kernels are compiled while ops are merged: those that stay, unless emitters do not know one of them."""

import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.loops.pointwise import Pointwise
from rushlight._engine.ops.expressions import toposort
from rushlight._engine.trace.passes.kernel_nodes import _kernel

pytest.importorskip("llvmlite")


def chain(x):
    for k in range(6):
        x = (x * (0.8125 + k)).abs() - x
    return x


def sizes_of_kernels(monkeypatch, most=1000):
    """How many nodes the kernels have that are made from here on; of more than `most` there is no machine code."""
    found, build = [], Pointwise.build

    def built(self):
        found.append(len(toposort(self.outputs)))
        return build(self) if found[-1] <= most else None

    monkeypatch.setattr(Pointwise, "build", built)
    return found


def equals_eager(function):
    x = torch.randn(50)
    with settings.using(kernels="llvm"):
        expected, compiled = function(x), torch.compile(function, mode="reduce-overhead")
        assert all(compiled(x).equal(expected) for _ in range(4))
    return str(torch.explain(compiled))


def test_what_becomes_part_of_other_kernels_is_not_compiled(monkeypatch):
    found = sizes_of_kernels(monkeypatch)
    assert "replayed 1 time" in equals_eager(chain)
    assert max(found) > 20 and sorted(found)[-2] <= 4  # that of the chain, and those of its ops


def test_kernels_that_no_emitter_knows_are_not_put_together(monkeypatch):
    _kernel.cache_clear()
    found = sizes_of_kernels(monkeypatch, 9)

    def function(x):
        return chain(x) * 0.59375

    assert "replayed 1 time" in equals_eager(function)
    assert max(found) > 20 and max(n for n in found if n <= 9) > 5
