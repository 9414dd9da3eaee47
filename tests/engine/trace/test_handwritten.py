"""Attention, convolutions and pools inside of programs: native, with eager's bits, for inputs never seen before."""

import gc
import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.products import convolution
from rushlight._engine.kernels.runtime import handwritten_stages
from rushlight._engine.kernels.runtime.stages import Run
from rushlight.nn import functional as F
from tests.engine.trace.test_native import compiled


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def gradients(function, *shapes):
    """A step: the result and the gradients of all operands but the first two, which are arguments."""
    torch.manual_seed(0)
    weights = [torch.nn.Parameter(torch.randn(s)) for s in shapes]

    def step(x, y):
        x = x.clone().requires_grad_()
        found = function(x, *weights)
        torch.autograd.backward((found * y[..., :1].mean()).sum(), inputs=[x, *weights])
        results = [found.detach(), x.grad, *[w.grad.clone() for w in weights]]
        for w in weights:
            w.grad = None
        return results

    return step


def last(x):
    return x.contiguous(memory_format=torch.channels_last)


CASES = {
    "padded": ((2, 4, 9, 8), lambda x, w: F.conv2d(x, w, padding=1), (6, 4, 3, 3)),
    "uneven": (
        (2, 4, 9, 8),
        lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(0, 2), dilation=(1, 2)),
        (6, 4, 3, 3),
    ),
    "grouped": ((3, 6, 7, 7), lambda x, w: F.conv2d(x, w, padding=2, groups=3), (6, 2, 5, 5)),
    "last": ((2, 8, 6, 6), lambda x, w: F.conv2d(last(x), last(w), padding=1), (8, 8, 3, 3)),
    "biased": ((2, 3, 20), lambda x, w, b: F.conv1d(x, w, b, padding=1).relu(), (5, 3, 3), (5,)),
    "volume": ((2, 2, 5, 4, 6), lambda x, w: F.conv3d(x, w, padding=1), (3, 2, 3, 3, 3)),
    "transposed": ((2, 4, 5, 5), lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), (4, 3, 4, 4)),
    "transposed wide": (
        (2, 4, 5, 5),
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1),
        (4, 9, 4, 4),
    ),
    "strided": ((2, 9, 8, 7), lambda x, w: F.conv2d(x, w, stride=2, padding=1), (4, 9, 3, 3)),
    "of many small images": ((24, 96, 2, 2), lambda x, w: F.conv2d(x, w, padding=1), (96, 96, 3, 3)),
    "pooled": ((2, 3, 9, 9), lambda x: F.max_pool2d(x, 3, 2, 1)),
    "pooled apart": ((2, 3, 9, 9), lambda x: F.max_pool2d(x, 2, 2, dilation=2)),
    "attention": (
        (2, 3, 17, 8),
        lambda x, k, v: F.scaled_dot_product_attention(x, k, v),
        (2, 3, 11, 8),
        (2, 3, 11, 5),
    ),
    "causal": (
        (2, 3, 70, 8),
        lambda x, k: F.scaled_dot_product_attention(x, k, x, is_causal=True),
        (2, 3, 70, 8),
    ),
    "large sum": ((300, 300), lambda x: (x * x).sum() * x),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_programs_give_eagers_bits(name, dtype):
    shape, function, *shapes = CASES[name]
    x, y = torch.randn(shape, dtype=getattr(torch, dtype)), torch.randn(4, dtype=getattr(torch, dtype))
    torch.set_default_dtype(x.dtype)
    try:
        step = gradients(function, *shapes)
        run, program = compiled(step, x, y)
        for _ in range(3):
            x = torch.randn_like(x) * 3
            for a, b in zip(run(x, y), step(x, y), strict=True):
                assert a.stride() == b.stride()
                assert a.numpy().tobytes() == b.numpy().tobytes()
    finally:
        torch.set_default_dtype(torch.float32)
    hand = [
        (e, s)
        for p in program.parts
        for e, s in zip(p.entries, p.steps, strict=True)
        if e.name.startswith(("_conv", "_attention", "_max_pool", "_spread"))
    ]
    assert all(isinstance(step, Run) for _, step in hand)
    assert hand or name == "large sum"


def test_scratch_memory_is_shared_by_the_layers_of_a_program():
    weights = [torch.randn(8, 8, 3, 3) for _ in range(6)]

    def stack(x, y):
        for w in weights:
            x = F.conv2d(x, w, padding=1)
        return x * y

    _, program = compiled(stack, torch.randn(1, 8, 40, 40), torch.ones(1))
    stages = [s for step in program.forward.steps if isinstance(step, Run) for s in step.stages]
    room = {
        id(a.base)
        for s in stages
        if isinstance(s.kept, tuple)
        for a in s.kept
        if isinstance(a, np.ndarray)
        and isinstance(a.base, np.ndarray)
        and a.base.dtype == np.uint8
        and a.base.size < 1 << 19
    }
    assert 0 < len(room) <= 3


def test_a_program_holds_the_tables_of_its_convolutions():
    # There are programs with more convolutions than plans are kept for others.
    x, w = np.ones((2, 8, 6, 6), np.float32), np.ones((8, 2, 3, 3), np.float32)
    how = (1, 1), (1, 1), (1, 1), 4, (6, 6)
    made = handwritten_stages.convolution(
        handwritten_stages.Scratch(), np.empty_like(x), "forward", x, w, *how
    )
    assert made
    plan = weakref.ref(convolution.planned("forward", x, w, *how).call)
    convolution._plan.cache_clear()
    gc.collect()
    assert plan() is not None
    del made
    gc.collect()
    assert plan() is None
