"""Device kernels: assembled by NVIDIA's assembler, and run as blocks and threads by the simulator."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.devices.cuda.kernels import ptx, writing
from rushlight._engine.devices.cuda.kernels.simulator import Kernel, has_fibers
from rushlight._engine.devices.cuda.kernels.targets import Simulated
from rushlight._engine.kernels.emit.llvm_ir import Module
from rushlight._engine.kernels.loops.rows import Rows
from rushlight._engine.kernels.runtime import tiers
from rushlight._engine.ops.table import ROWS
from tools import cuda_rows

pytest.importorskip("llvmlite")
F = torch.nn.functional
PAGE = Path(__file__).resolve().parents[2] / "docs" / "cuda.md"
WITH_KERNEL = [
    n for n in sorted(ROWS) if ROWS[n].kind == "pointwise" and cuda_rows.served(ROWS[n]) == "kernel"
]


def row_kernels() -> list[Rows]:
    """The row kernels of softmax, norms and losses, forward and backward."""
    before = len(tiers._kernels)
    x = torch.randn(4, 8, requires_grad=True)
    w = torch.ones(8, requires_grad=True)
    for y in (
        F.softmax(x, 1),
        F.log_softmax(x, 1),
        F.layer_norm(x, (8,), w, w),
        F.rms_norm(x, (8,), w),
        F.cross_entropy(x, torch.zeros(4, dtype=torch.int64)),
        x.logsumexp(1),
    ):
        y.sum().backward()
    F.softmax(x.detach().bfloat16(), 1)
    assert len(tiers._kernels) >= before
    found = {f"{k._meaning().text()} {k.roles}": k for k in tiers._kernels if isinstance(k, Rows)}
    return list(found.values())


def test_the_page_tells_how_rows_are_served() -> None:
    assert PAGE.read_text(encoding="utf-8").split(cuda_rows.MARK)[1].strip() == cuda_rows.table().strip(), (
        "python tools/cuda_rows.py"
    )


@pytest.mark.parametrize("name", WITH_KERNEL)
def test_pointwise_kernels_are_ptx(name: str) -> None:
    texts = [text for n, text in cuda_rows.texts("sm_80") if n == name]
    assert len(texts) == len(cuda_rows.meanings(ROWS[name])) > 0
    assert all(re.search(r"\.visible \.entry kernel\(", text) for text in texts)
    if ptx.assembler() is not None:
        told = [found for n, found in cuda_rows.assemblies("sm_80") if n == name]
        assert len(told) == len(texts)
        assert all(found.spills == 0 and found.registers <= 168 for found in told)  # of 255


def test_wide_accesses() -> None:
    (meaning,) = cuda_rows.meanings(ROWS["add"])
    assert "ld.global.v4" in ptx.ptx(cuda_rows.text_of(meaning))


def test_row_kernels_are_ptx() -> None:
    written = [writing.rows(k._meaning(), k.roles, frozenset(), "nvptx") for k in row_kernels()]
    texts = [ptx.ptx(text) for text, _ in written]
    assert ["shfl.sync.bfly" in text for text in texts] == [bool(barriers) for _, barriers in written]
    if ptx.assembler() is not None:
        told = [(found.spills, found.shared) for found in ptx.assemble_all(texts)]
        assert told == [(0, 256 if barriers else 0) for _, barriers in written]


@pytest.mark.skipif(not has_fibers(), reason="fibers need x86-64 and Linux")
def test_row_kernels_run_as_blocks_and_threads() -> None:
    draw = np.random.default_rng(0)
    for kernel in row_kernels():
        given: list[Any] = []
        for (_, d), role in zip(kernel.inputs, kernel.roles, strict=True):
            shape = (5, 70) if role == "vector" else (5,)
            of = torch.empty(0, dtype=getattr(torch, d))._array.dtype
            given.append((np.abs(draw.standard_normal(shape)) * (1 if of.kind != "i" else 3)).astype(of))
        want = kernel.reference(*given)
        want = want if isinstance(want, tuple) else (want,)
        text, barriers = writing.rows(kernel._meaning(), kernel.roles, frozenset(), "simulated")
        arrays = len(given) + len(want)
        compiled = Kernel(text, barriers, arrays, 2 + arrays)
        for turned in (False, True):
            outs = [np.zeros_like(w) for w in want]
            every = [*given, *outs]
            numbers = [5, 70, *[a.strides[0] for a in every]]
            compiled.run(2, 64, [a.ctypes.data for a in every], numbers, turned)
            for found, w in zip(outs, want, strict=True):
                tolerance = 2e-2 if w.dtype.itemsize == 2 else 2e-5
                a, b = found.astype(np.float64), w.astype(np.float64)
                assert np.allclose(a, b, tolerance, tolerance, equal_nan=True), kernel.roles


@pytest.mark.skipif(not has_fibers(), reason="fibers need x86-64 and Linux")
def test_threads_that_part_at_a_barrier_are_named() -> None:
    f = Simulated(Module(), "kernel", ["p0"], ["n"])
    f.mark_early()
    with f.when(f.i64("icmp slt", f.special("tid"), 7)):
        f.barrier()
    f.emit("ret void")
    f.finish()
    room = np.zeros(4)
    with pytest.raises(RuntimeError, match="wait at a barrier that others never reach"):
        Kernel(f.module.text(), f.barriers, 1, 1).run(1, 32, [room.ctypes.data], [1])


@pytest.mark.devices("simulated:1GB,kernels,check")
@pytest.mark.parametrize("name", [n for n in WITH_KERNEL if cuda_rows.simple(ROWS[n]) is not None])
def test_pointwise_calls_run_by_kernels(name: str) -> None:
    operands = [p.name for p in ROWS[name].params if p.is_tensor]
    (meaning,) = cuda_rows.meanings(ROWS[name])
    of = getattr(torch, meaning.inputs[0][1])
    torch.manual_seed(1)
    values = [(torch.rand(6, 7) * 2 + 0.5).to(of) for _ in operands]
    for arrange in (lambda t: t, lambda t: t.t(), lambda t: t[::2]):
        here = [arrange(v) for v in values]
        want = ROWS[name](*here)
        found = ROWS[name](*[v.cuda() if arrange(v).is_contiguous() else arrange(v.cuda()) for v in here])
        if found.shape == want.shape:
            torch.testing.assert_close(found.cpu(), want, equal_nan=True, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("architecture", cuda_rows.ARCHITECTURES)
def test_registers_only_improve(architecture: str) -> None:
    if ptx.assembler() is None:
        pytest.skip("ptxas is not installed")
    record = json.loads(cuda_rows.REGISTERS.read_text(encoding="utf-8"))
    known = record[architecture]
    found = {name: list(a) for name, a in cuda_rows.assemblies(architecture)}
    assert {n: a for n, a in found.items() if a[1]} == {}, "a kernel spills registers"
    assert found.keys() == known.keys(), "python tools/cuda_rows.py --registers"
    if record["ptxas"] != ptx.version():
        pytest.skip("another version of ptxas counts otherwise")
    worse = {n: (a, known[n]) for n, a in found.items() if a[0] > known[n][0] or a[2] > known[n][2]}
    assert worse == {}, "a kernel takes more registers than recorded"
