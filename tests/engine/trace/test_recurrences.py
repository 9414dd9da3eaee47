"""Recurrences in compiled steps: a loop of steps is one native call, with eager's bits."""

import pytest

import rushlight as torch
from rushlight._engine.trace.stage_planning import steps
from tests.engine.trace.test_matching import matched

pytest.importorskip("llvmlite")


def _program(made):
    return next(iter(made._runner.plans.values())).program


@pytest.mark.parametrize("cls", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_compiled_step_has_eagers_bits(cls, reverse):
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = getattr(torch.nn, cls)(12, 40, 2, bidirectional=reverse)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = [torch.randn(7, 9, 12) for _ in range(6)]

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            out, *_ = model(x)
            loss = out.square().mean()
            loss.backward()
            optimizer.step()
            return loss, out

        if compiled:
            step = torch.compile(step, mode="reduce-overhead")
        found = [step(x) for x in data]
        results.append(
            [t.detach().numpy().tobytes() for pair in found for t in pair]
            + [p.detach().numpy().tobytes() for p in model.parameters()]
        )
        if compiled:
            entries = [e for e in _program(step).entries if "recurrence" in e.name]
            assert len(entries) == (8 if reverse else 4)
            assert all("_recurrent" in s.__qualname__ for s in steps(entries))
    assert results[0] == results[1]


def test_sequences_of_different_lengths():
    pack = torch.nn.utils.rnn.pack_padded_sequence
    torch.manual_seed(0)
    model = torch.nn.LSTM(5, 8)
    x, lengths = torch.randn(6, 4, 5), torch.tensor([6, 5, 2, 1])

    def run(x):
        return model(pack(x, lengths))[0].data

    made = torch.compile(run, mode="reduce-overhead")
    expected = run(x)
    for _ in range(4):
        assert torch.equal(made(x), expected)


@pytest.mark.parametrize("cls", ["LSTM", "GRU", "RNN"])
def test_a_matched_step_has_a_recurrence_among_its_ops_both_ways(cls):
    made = []
    for _ in range(2):
        torch.manual_seed(0)
        model = getattr(torch.nn, cls)(4, 8)
        made.append((model, torch.optim.SGD(model.parameters(), lr=0.1)))

    def step(model, optimizer, x):
        optimizer.zero_grad()
        loss = model(x)[0].square().mean()
        loss.backward()
        optimizer.step()
        return loss

    function = matched(step)
    for _ in range(6):
        x = torch.randn(5, 3, 4)
        assert function(*made[0], x).equal(step(*made[1], x))
    assert not [why for why in function.trace.reasons if "out=" in why]
