"""Selective activation checkpointing: what is kept is not computed again; gradients keep their bits; memory."""

import functools
import gc
import tracemalloc

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.dispatch import interpreters
from rushlight.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
    noop_context_fn,
)

F = nn.functional


class Count:
    """An interpreter that counts ops."""

    def __init__(self):
        self.ops = {}

    def __enter__(self):
        interpreters.STACK.modes.insert(0, self)
        interpreters.MODES.append(self)
        return self.ops

    def __exit__(self, *error):
        interpreters.pop(self)

    def run(self, row, call, args, kwargs):
        self.ops[row.name] = self.ops.get(row.name, 0) + 1
        return call(*args, **kwargs)


def selected(policy, **options):
    return functools.partial(create_selective_checkpoint_contexts, policy, **options)


def gradients(function, inputs, context_fn=None, **options):
    inputs = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
    torch.manual_seed(3)
    if context_fn is None:
        out = function(*inputs)
    else:
        out = checkpoint(function, *inputs, use_reentrant=False, context_fn=context_fn, **options)
    with Count() as ops:
        out.sum().backward()
    return [x.grad for x in inputs if x.requires_grad], ops


def products(x, w):
    y = torch.mm(x, w).sigmoid()
    z = torch.mm(y, w) * y
    return F.dropout(torch.mm(z, w).tanh(), 0.5) * torch.softmax(z, -1) + torch.exp(y).sum()


def linears(x, w):
    y = F.linear(x, w, w[0]).relu()
    return F.layer_norm(F.linear(y, w) + x, (4,)).view(2, 8).t().exp()


CASES = {"products": products, "linears": linears}
POLICIES = {
    "mm": [torch.mm],
    "addmm": [torch.addmm],
    "all": lambda context, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE,
    "none": lambda context, op, *args, **kwargs: CheckpointPolicy.PREFER_RECOMPUTE,
    "random": [F.dropout, torch.sigmoid, torch.softmax],
    "bool": lambda context, op, *args, **kwargs: op is torch.exp,
}


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("case", CASES)
def test_gradients_keep_their_bits(case, policy, early_stop):
    torch.manual_seed(0)
    inputs = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    expected, _ = gradients(CASES[case], inputs)
    found, _ = gradients(CASES[case], inputs, selected(POLICIES[policy]), early_stop=early_stop)
    assert all(map(torch.equal, found, expected))


def test_what_is_kept_is_not_computed_again():
    torch.manual_seed(0)
    inputs = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    plain, whole, kept = (
        gradients(products, inputs, context)[1] for context in (None, noop_context_fn, selected([torch.mm]))
    )
    assert whole["mm"] == plain["mm"] + 3 and kept["mm"] == plain["mm"]
    assert kept["sigmoid"] == whole["sigmoid"] == 1


def test_what_a_policy_is_told():
    seen = []

    def policy(context, op, *args, **kwargs):
        seen.append((context.is_recompute, op.__name__, context.op_output is not None))
        return CheckpointPolicy.MUST_SAVE if op is torch.mm else CheckpointPolicy.PREFER_RECOMPUTE

    gradients(lambda x: torch.mm(x, x).sin(), [torch.randn(3, 3, requires_grad=True)], selected(policy))
    assert seen[:2] == [(False, "mm", True), (False, "sin", True)]
    assert all(again and not told for again, _, told in seen[2:])


def test_errors():
    x = torch.randn(3, 3, requires_grad=True)

    def run(function, policy=None, **options):
        context_fn = selected(policy or [torch.mm], **options)
        return checkpoint(function, x, use_reentrant=False, context_fn=context_fn).sum()

    def mutating(x):
        y = torch.mm(x, x)
        y.mul_(2)
        return y.sin()

    with pytest.raises(RuntimeError, match="has been mutated"):
        run(mutating).backward()
    out = run(lambda x: torch.mm(x, x).sin())
    out.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="backward an extra time"):
        out.backward()
    with pytest.raises(RuntimeError, match="not found in storage"):
        run(lambda x: torch.mm(x, x).sin(), lambda context, op, *args: context.is_recompute).backward()
    with pytest.raises(TypeError, match="policy_fn_or_list must be"):
        create_selective_checkpoint_contexts(3)
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload but got: 3"):
        create_selective_checkpoint_contexts([3])


def test_autocast_inside():
    torch.manual_seed(0)
    inputs = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)

    def cast(x, w):
        with torch.autocast("cpu"):
            return (torch.mm(x, w).relu() @ w).float().exp()

    expected, _ = gradients(cast, inputs)
    assert all(map(torch.equal, gradients(cast, inputs, selected([torch.mm]))[0], expected))


def held(model, x, run):
    """Bytes of arrays that stay allocated after a forward, until backward."""
    tracemalloc.start()
    out = x
    for block in model:
        out = run(block, out)
    gc.collect()
    arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    size = sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([arrays]).traces)
    tracemalloc.stop()
    (out * torch.linspace(-1, 1, x.numel()).view_as(x)).sum().backward()
    grads = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    return size, grads


def test_memory_of_a_deep_transformer():
    torch.manual_seed(0)
    model = nn.ModuleList(
        nn.TransformerEncoderLayer(32, 4, 128, dropout=0.0, batch_first=True) for _ in range(8)
    )
    x = torch.randn(4, 64, 32)
    runs = {
        "plain": lambda block, t: block(t),
        "checkpoint": lambda block, t: checkpoint(block, t, use_reentrant=False),
        "selective": lambda block, t: checkpoint(
            block, t, use_reentrant=False, context_fn=selected([torch.addmm, torch.mm])
        ),
    }
    for run in runs.values():
        held(model, x, run)  # kernels and caches
    sizes, grads = zip(*(held(model, x, run) for run in runs.values()), strict=True)
    sizes = dict(zip(runs, sizes, strict=True))
    activation = x.nbytes
    assert sizes["checkpoint"] < 8 * activation * 1.25  # a block keeps its input, and random state
    assert sizes["plain"] > 10 * sizes["checkpoint"]
    # A block keeps its input and what four products gave: 3, 1, 4 and 1 activations.
    assert 9 * 8 * activation < sizes["selective"] < 10 * 8 * activation * 1.05 < sizes["plain"], sizes
    for other in grads[1:]:
        torch.testing.assert_close(other, grads[0], rtol=1e-4, atol=1e-4)  # kernels may change meanwhile
