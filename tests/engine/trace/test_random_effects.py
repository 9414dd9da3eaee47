"""The law of compile(): programs of random ops and of what Python does between them equal eager ones bit by bit.

PYTHONPATH=. python -m tests.engine.trace.test_random_effects 0 2000      (seeds)
"""

import copy
import gc
import random
import sys
import threading
import traceback
import warnings
import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight.utils.checkpoint import checkpoint
from tests.engine.trace.test_matching import Effects, matched, run_all, same
from tests.engine.trace.test_random_programs import BINARY, SHAPE, UNARY

KINDS = (
    "store counted item branch caught view list numpy number raised out_of_range thread beside deep_view aliased "
    "data state leaf hook switched size forgotten copied out graph no_grad inference version named cast drawn "
    "saved checkpointed printed warned module chunks swapped expanded same_memory generator again"
).split()


class MoreEffects(Effects):
    """Also threads, exceptions that are caught, writes through views of views, hooks, state, switches."""

    def __init__(self, seed):
        super().__init__(seed)
        choose = self.choose = random.Random(seed)
        self.steps = []
        for count in range(2, choose.randint(6, 20)):
            many = choose.random() < 0.4
            self.steps.append(
                (
                    "op" if choose.random() < 0.5 else choose.choice(KINDS),
                    choose.choice(BINARY if many else UNARY),
                    many,
                    [choose.randrange(count) for _ in range(2)],
                    choose.random(),
                )
            )
        self.buffer = torch.zeros(SHAPE)
        self.weight = torch.ones(SHAPE[1]).requires_grad_()
        self.layer = torch.nn.Sequential(torch.nn.Linear(SHAPE[1], SHAPE[1]), torch.nn.Dropout(0.2))

    def note(self, t):
        """Its bits, once they are asked for."""
        self.said.append(t.detach().clone().contiguous().view(torch.uint8).tolist() if t.ndim else t.item())

    def raised(self, values, number):
        try:
            values[-1] = values[-1] * 2
            if number < 0.5:
                raise KeyError(len(values))
            values[-1] = values[-1] + 1
        except KeyError as error:
            self.said.append(error.args)
        finally:
            values[-1] = values[-1] * number

    def out_of_range(self, values, number):
        try:
            self.said.append(float(values[-1].sum()))
            values[-1] = values[-1][torch.tensor([0, 99])]
        except IndexError as error:
            self.said.append(str(error))

    def thread(self, values, number):
        given, found = values[-1], []
        other = threading.Thread(target=lambda: found.append((given.detach() * 2).sum() + number))
        other.start()
        other.join()
        values[-1] = values[-1] + found[0] * 1e-3

    def beside(self, values, number):
        own = values[-1].detach().clone()
        found = []
        other = threading.Thread(target=lambda: found.extend((own * k).sum().item() for k in range(5)))
        other.start()
        values[-1] = (values[-1] * number).tanh() + 1
        other.join()
        self.said.append(found)

    def deep_view(self, values, number):
        own = values[-1] * 0.75
        inner = own[1:5].t()[2:6]
        inner += number
        inner[0].mul_(-1)
        own.view(-1)[7:11].zero_()
        own.diagonal().add_(inner.sum())
        values[-1] = own + inner.mean()

    def aliased(self, values, number):
        own = values[-1] + number
        other = own.detach()
        other.mul_(0.5)
        values[-1] = own * other
        self.note(own[0])

    def data(self, values, number):
        own = values[-1] * 1.5
        own.data = own.data + 1
        own.data[0] = number
        values[-1] = own * 2

    def state(self, values, number):
        self.buffer.mul_(0.9).add_(values[-1].detach().float().reshape(SHAPE), alpha=0.1)
        values[-1] = values[-1] + self.buffer

    def leaf(self, values, number):
        values[-1] = values[-1] * self.weight
        if number < 0.3:
            with torch.no_grad():
                self.weight -= 1e-3 * values[-1].detach().float().mean(0)

    def hook(self, values, number):
        if values[-1].requires_grad:
            values[-1].register_hook(lambda g: self.said.append(g.sum().item()))
            values[-1].register_hook(lambda g: g * number)

    def switched(self, values, number):
        if number < 0.4:
            torch.set_default_dtype(torch.float64)
        try:
            self.said.append(str((torch.arange(3) / 2).dtype))
            values[-1] = values[-1] + torch.full((), number)
        finally:
            torch.set_default_dtype(torch.float32)

    def size(self, values, number):
        rows = 1 + self.count_of_calls() % 3
        part = values[-1][:rows] * number
        self.said.append(tuple(part.shape))
        values[-1] = values[-1] + part.sum(0)

    def forgotten(self, values, number):
        lost = values[-1] * 3 + 1
        ref = weakref.ref(lost)
        del lost
        gc.collect(0)
        self.said.append(ref() is None)

    def copied(self, values, number):
        self.kept.append(copy.deepcopy(values[-1].detach()))
        self.kept.append(copy.copy(values[-1].detach()))
        values[-1] = values[-1].clone().mul_(number)

    def out(self, values, number):
        into = torch.empty(SHAPE)
        a = values[-1].detach().float().reshape(SHAPE)
        torch.add(a, number, out=into)
        torch.mul(into, 2, out=into[:])
        values[-1] = values[-1] + into

    def graph(self, values, number):
        x = values[-1].detach().float().requires_grad_()
        y = (x * x).sin().sum()
        (g,) = torch.autograd.grad(y, x, create_graph=number < 0.3)
        if number < 0.3:
            (g,) = torch.autograd.grad((g * number).sum(), x)
        values[-1] = values[-1] + g

    def no_grad(self, values, number):
        with torch.no_grad():
            frozen = values[-1] * number
        self.said.append(frozen.requires_grad)
        with torch.set_grad_enabled(number > 0.5):
            values[-1] = values[-1] + frozen

    def inference(self, values, number):
        with torch.inference_mode():
            frozen = values[-1] * number
            self.said.append((frozen.is_inference(), frozen.requires_grad))
        values[-1] = values[-1] * frozen.clone().sum().item()

    def version(self, values, number):
        own = values[-1] * number
        before = own._version
        own += 1
        view = own[0]
        view.zero_()
        self.said.append((before, own._version, view._version, own.is_contiguous(), own.stride()))
        values[-1] = own

    def named(self, values, number):
        table = {values[-1]: "last", id(values[0]): "first"}
        self.said.append((table[values[-1]], values[-1] in table, type(values[-1]).__name__))
        self.said.append((values[-1].grad_fn is None, values[-1].is_leaf, str(values[-1].dtype)))

    def cast(self, values, number):
        with torch.autocast("cpu", torch.bfloat16, enabled=number < 0.7):
            values[-1] = values[-1] + (values[-1].float() @ self.layer[0].weight).float()

    def drawn(self, values, number):
        values[-1] = values[-1] + torch.randn(SHAPE) * (torch.rand(()) < 0.5)
        self.said.append(random.Random(torch.randint(0, 99, ()).item()).random())

    def saved(self, values, number):
        kept = []

        def pack(t):
            kept.append(tuple(t.shape))
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            values[-1] = values[-1].sigmoid() * values[-1]
        self.said.append(kept)

    def checkpointed(self, values, number):
        values[-1] = checkpoint(lambda t: (t * number).tanh() * t, values[-1], use_reentrant=False)

    def printed(self, values, number):
        self.said.append(repr(values[-1].detach()[:1, :2]))
        self.said.append(f"{values[-1].max():.3f} {values[-1].shape}")

    def warned(self, values, number):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            values[-1] = values[-1] + torch.nn.functional.mse_loss(values[-1], values[-1][:1] * number)
        self.said.append(len(given))

    def module(self, values, number):
        self.layer.train(number < 0.5)
        values[-1] = self.layer(values[-1].float()) + values[-1]

    def chunks(self, values, number):
        first, *rest = (values[-1] * number).chunk(3)
        for part in rest:
            first = first + part
        values[-1] = values[-1] + first.sum()

    def swapped(self, values, number):
        a, b = values[-1] * 2, values[-2] * 1
        a, b = b, a
        b.sub_(number)
        self.note(b.sum())
        values[-1] = values[-1] + b.sum() + a.sum()

    def expanded(self, values, number):
        row = values[-1].sum(0, keepdim=True)
        values[-1] = values[-1] + row.expand(SHAPE) * number

    def same_memory(self, values, number):
        own = values[-1] * 1
        view = own[1:]
        self.said.append(
            (
                own.data_ptr() == own.view(-1).data_ptr(),
                view.storage_offset(),
                view._base is own or view._base is None,
            )
        )
        view.fill_(number)
        values[-1] = own

    def generator(self, values, number):
        own = torch.Generator().manual_seed(int(number * 100))
        values[-1] = values[-1] + torch.rand(SHAPE, generator=own)

    def again(self, values, number):
        def terms():
            t = values[-1]
            for k in range(3):
                t = t * 0.5 + k
                yield t

        values[-1] = sum(terms())


def differs(seed, backward):
    """What is not as eager; empty if all is."""
    g = torch.Generator().manual_seed(seed)
    inputs = [tuple(torch.randn(SHAPE, generator=g) for _ in range(2)) for _ in range(7)]

    def make():
        torch.manual_seed(seed)
        return MoreEffects(seed)

    def told(wrap):
        try:
            return run_all(make, wrap, inputs, backward), ""
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"

    (eager, first), (found, second) = told(lambda f: f), told(matched)
    if first or second:
        return (
            ""
            if first == second
            else f"{first or 'nothing'} is raised eagerly, by matching {second or 'nothing'}"
        )
    for i, (e, f) in enumerate(zip(eager[0], found[0], strict=True)):
        if not ((e is None and f is None) or same(e, f)):
            return f"result {i}"
    a, b = eager[1], found[1]
    if a.count != b.count or repr(a.said) != repr(b.said):
        return next(
            f"said {i}: {s} {t}" for i, (s, t) in enumerate(zip(a.said, b.said)) if repr(s) != repr(t)
        )
    pairs = [*zip(a.kept, b.kept, strict=True), (a.buffer, b.buffer), (a.weight, b.weight)]
    pairs += [*zip(a.layer.parameters(), b.layer.parameters(), strict=True)]
    if not all(same(s, t) for s, t in pairs):
        return "state"
    grads = [(s.grad, t.grad) for s, t in pairs if s.is_leaf]
    return "" if all((s is t) or same(s, t) for s, t in grads) else "gradients"


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_equal_to_eager(seed, backward):
    assert not differs(seed, backward)


def main():
    low, high = map(int, sys.argv[1:3])
    np.seterr(all="ignore")
    for seed in range(low, high):
        for backward in (False, True):
            try:
                why = differs(seed, backward)
            except Exception:
                why = traceback.format_exc()
            if why:
                print(seed, backward, why, flush=True)


if __name__ == "__main__":
    main()
