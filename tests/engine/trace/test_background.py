"""background=True: calls run eagerly while kernels compile, and the program takes over when it is ready."""

import threading
import time

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.runtime import tiers
from rushlight._engine.trace import compiled as compiling

WAIT = 60


def until_ready(call, run, *args):
    """Call until the program has taken over; the number of calls."""
    start, count = time.monotonic(), 0
    while not any(plan.ready for plan in run._runner.plans.values()):
        assert time.monotonic() < start + WAIT and not any(p.refusal for p in run._runner.plans.values())
        call(*args)
        count += 1
    return count


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(7, 33), nn.GELU(), nn.LayerNorm(33), nn.Linear(33, 5), nn.Softmax(-1))


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_the_program_takes_over(mode):
    net = model().eval()
    run = torch.compile(lambda x: net(x), mode=mode, background=True)
    x = torch.randn(3, 7)
    with torch.no_grad():
        expected = net(x)

        def call():
            torch.testing.assert_close(run(x), expected)

        assert until_ready(call, run) >= 3
        call()
        assert next(iter(run._runner.plans.values())).replays == 1


def test_a_training_step():
    net, plain = model(), model()
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (net, plain)]

    def step(m, optimizer, x):
        optimizer.zero_grad()
        loss = m(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(lambda x: step(net, optimizers[0], x), mode="reduce-overhead", background=True)

    def call():
        x = torch.randn(4, 7)
        torch.testing.assert_close(run(x), step(plain, optimizers[1], x), rtol=1e-4, atol=1e-5)

    until_ready(call, run)
    for _ in range(3):
        call()
    for a, b in zip(net.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_no_call_compiles_or_waits_for_the_program(monkeypatch, tmp_path):
    if not target.available():
        pytest.skip("no compiler")
    compiled_in, gate = [], threading.Event()
    assemble = target.assemble

    def slow(*args, **kwargs):
        compiled_in.append(threading.current_thread())
        assert gate.wait(WAIT)
        return assemble(*args, **kwargs)

    def function(x):
        return ((x * 1.2345).exp() + 0.5432).softmax(-1)

    with settings.using(cache_dir=str(tmp_path)):
        x = torch.randn(5, 6)
        function(x)  # what an eager call needs: bits are the same from the first
        monkeypatch.setattr(target, "assemble", slow)
        run = torch.compile(function, mode="reduce-overhead", background=True)
        for _ in range(20):
            run(x)  # nothing more is compiled yet, and nobody waits
        gate.set()
        until_ready(run, run, x)
        assert torch.equal(run(x), function(x))
    assert compiled_in and threading.main_thread() not in compiled_in


def test_what_goes_wrong_beside_is_reported(monkeypatch):
    monkeypatch.setattr(compiling, "Program", None)
    run = torch.compile(lambda x: x * 3, mode="reduce-overhead", background=True)
    x, start = torch.ones(2), time.monotonic()
    while "compiling failed: TypeError" not in str(torch.explain(run)):
        assert run(x).tolist() == [3, 3] and time.monotonic() < start + WAIT
    assert run(x).tolist() == [3, 3]
    tiers.wait()
