"""Activation checkpointing in compiled programs: what is drawn is drawn again, in eager's bits."""

import functools
import subprocess
import sys

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight.nn import functional as F
from rushlight.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def policy(context, op, *args, **kwargs):
    keep = op in (torch.mm, torch.addmm, torch.dropout)
    return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE


def nested(block, x):
    def twice(v):
        return checkpoint(block, F.dropout(v, 0.1), use_reentrant=False)

    return checkpoint(twice, x, use_reentrant=False)


WAYS = {
    "plain": lambda block, x: checkpoint(block, x, use_reentrant=False),
    "reentrant": lambda block, x: checkpoint(block, x, use_reentrant=True),
    "nested": nested,
    "selective": lambda block, x: checkpoint(
        block,
        x,
        use_reentrant=False,
        context_fn=functools.partial(create_selective_checkpoint_contexts, policy),
    ),
}


class Net(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.way = way
        self.first, self.head = nn.Linear(6, 8), nn.Linear(8, 3)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, 0.2, batch_first=True)

    def forward(self, x):
        x = WAYS[self.way](self.block, self.first(x))
        return self.head(F.dropout(x, 0.1).mean(1))


class Plain(Net):
    def forward(self, x):
        x = checkpoint(self.block, self.first(x), use_reentrant=False)
        return self.head(F.dropout(x, 0.1).mean(1))


def trained(way, what="", mode="reduce-overhead", kind=Net):
    torch.manual_seed(0)
    net = kind(way)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    model = torch.compile(net, mode=mode) if what == "model" else net

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step, mode=mode) if what == "step" else step
    losses = [run(torch.randn(4, 5, 6), torch.randint(3, (4,))).item() for _ in range(6)]
    report = str(torch.explain(run if what == "step" else model)) if what else ""
    return [losses, *[p.tolist() for p in net.parameters()], torch.rand(2).tolist()], report


@pytest.mark.parametrize("what", ["step", "model"])
@pytest.mark.parametrize("way", WAYS)
def test_dropout_under_a_checkpoint(way, what):
    found, report = trained(way, what)
    assert found == trained(way)[0]
    once = what == "model" and way in ("selective", "reentrant")
    assert ("compile the whole step" if once else "replayed 3 times") in report, report


@pytest.mark.parametrize("what", ["step", "model"])
def test_in_default_mode(what):
    found, report = trained("plain", what, "default", Plain)
    assert found == trained("plain")[0] and "replayed 3 times" in report, report


def test_states_of_the_generator():
    def draws(x):
        state = torch.get_rng_state()
        first = torch.rand_like(x)
        with torch.random.fork_rng():
            torch.set_rng_state(state)
            again = torch.rand_like(x)
        return first, again, torch.rand_like(x)

    found = []
    for run in (draws, torch.compile(draws, mode="reduce-overhead")):
        torch.manual_seed(3)
        found.append([[t.tolist() for t in run(torch.zeros(3))] for _ in range(6)])
    assert found[0] == found[1] and all(first == again != last for first, again, last in found[0])
    assert "replayed 3 times" in str(torch.explain(run))


def test_leaves_that_a_call_makes_begin_without_a_gradient():
    """An adversarial step: gradients of a perturbed input, twice added up."""

    def train(compiled):
        torch.manual_seed(0)
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x, y):
            near = x.detach().clone().requires_grad_()
            for _ in range(2):
                F.cross_entropy(model(near.tanh()), y).backward()
            optimizer.zero_grad()
            F.cross_entropy(model(x + 0.1 * near.grad.sign()), y).backward()
            optimizer.step()
            return near.grad

        run = torch.compile(step, mode="reduce-overhead") if compiled else step
        found = [run(torch.randn(5, 4), torch.randint(3, (5,))).tolist() for _ in range(7)]
        return [found, model.weight.tolist()], str(torch.explain(run)) if compiled else ""

    found, report = train(True)
    assert found == train(False)[0] and "replayed 4 times" in report, report


PROGRAM = """
import torch
from torch.utils.checkpoint import checkpoint
layer = torch.nn.Linear(4, 4)
step = torch.compile(lambda x: checkpoint(lambda x: layer(x).sin(), x, use_reentrant=False).sum())
for _ in range(4):
    step(torch.randn(2, 4)).backward()
print(*[plan.refusal or plan.ready for plan in step._runner.plans.values()])
"""


def test_replayed_in_a_program_where_all_is_torch(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run = subprocess.run([sys.executable, "-m", "rushlight", str(program)], capture_output=True, text=True)
    assert run.stdout == "True\n", run.stderr
