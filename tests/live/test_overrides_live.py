"""Modes of torch.overrides beside PyTorch's, and names that ask about a GPU."""

import importlib

import pytest

import rushlight

torch = pytest.importorskip("torch")


def seen(t):
    overrides, names = importlib.import_module(f"{t.__name__}.overrides"), []

    class Noted(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append((func.__name__, len(types)))
            return func(*args, **(kwargs or {}))

    with Noted():
        x = t.ones(2, 3)
        y = t.nn.functional.gelu(t.add(x, x, alpha=2)).mul(3)
        y.add_(1)
        t.softmax(t.cat([x, y]), -1).reshape(3, 4).mean(0)
    return names


def test_what_a_mode_sees():
    assert seen(rushlight) == seen(torch)


def answers(t):
    switch = t.backends.cuda
    before = [
        switch.flash_sdp_enabled(),
        switch.math_sdp_enabled(),
        switch.mem_efficient_sdp_enabled(),
        switch.cudnn_sdp_enabled(),
        switch.fp16_bf16_reduction_math_sdp_allowed(),
    ]
    switch.enable_flash_sdp(False)
    after = switch.flash_sdp_enabled()
    switch.enable_flash_sdp(True)
    with t.cuda.stream(None), t.cuda.device_of(t.ones(2)):
        pass
    return (
        before,
        after,
        issubclass(t.OutOfMemoryError, RuntimeError),
        str(t.OutOfMemoryError),
        t.cuda.OutOfMemoryError is t.OutOfMemoryError,
    )


def test_names_of_a_gpu():
    assert answers(rushlight) == answers(torch)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.cuda.cudart(),
        lambda t: t.cuda.graph(None),
        lambda t: t.cuda.can_device_access_peer(0, 1),
        lambda t: t.cuda.device(0).__enter__(),
        lambda t: t.cuda.graph_pool_handle(),
    ],
)
def test_what_needs_a_gpu(call):
    with pytest.raises(Exception) as theirs:
        call(torch)
    with pytest.raises(theirs.type, match="cuda"):
        call(rushlight)
