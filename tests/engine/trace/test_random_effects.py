"""The law of compile(): programs of random ops and of what Python does between them equal eager ones bit by bit.

PYTHONPATH=. python -m tests.engine.trace.test_random_effects 0 2000             (seeds; by matching)
PYTHONPATH=. python -m tests.engine.trace.test_random_effects 0 2000 compile     (as torch.compile chooses)
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
    "saved checkpointed printed warned module chunks swapped expanded same_memory generator again "
    "stepped custom tracked_view hooked_module inner accumulated averaged twice reloaded foreach leaf_hook "
    "reentrant detached several threaded_backward scaled frozen_stats resized"
).split()


class Clipped(torch.autograd.Function):
    """A function of a program's own, which writes to what it is given back."""

    @staticmethod
    def forward(ctx, x, number):
        ctx.save_for_backward(x)
        ctx.number = number
        return x.clamp(-number, number) * 1.5

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.clone().mul_(1.5) * (x.abs() <= ctx.number), None


class MoreEffects(Effects):
    """Also threads, exceptions that are caught, writes through views of views, hooks, state, switches, training.

    inside: what compiles a module inside of the program, whose backward pass comes later.
    """

    def __init__(self, seed, inside=lambda module: module):
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
        self.small = torch.nn.Sequential(
            torch.nn.Linear(SHAPE[1], SHAPE[1]),
            torch.nn.BatchNorm1d(SHAPE[1]),
            torch.nn.ReLU(inplace=True),
            torch.nn.Linear(SHAPE[1], SHAPE[1]),
        )
        sort = choose.choice([torch.optim.SGD, torch.optim.AdamW, torch.optim.RMSprop])
        options = {"momentum": 0.9} if sort is torch.optim.SGD else {}
        self.optimizer = sort(self.small.parameters(), lr=0.05, **options)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        self.average = copy.deepcopy(self.small)
        self.inner_call = inside(self.small)

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

    def given(self, values):
        """Something to train on."""
        return values[-1].detach().float().nan_to_num(0, 1, -1).clamp(-3, 3).reshape(SHAPE)

    def stepped(self, values, number):
        self.optimizer.zero_grad(set_to_none=number < 0.7)
        loss = self.small(self.given(values)).square().mean()
        loss.backward()
        if number < 0.5:
            self.said.append(
                torch.nn.utils.clip_grad_norm_(self.small.parameters(), 0.1).item() if number < 0.1 else 0
            )
        self.optimizer.step()
        if number < 0.6:
            self.schedule.step()
        self.said.append(self.optimizer.param_groups[0]["lr"])
        values[-1] = values[-1] + loss.detach()

    def custom(self, values, number):
        values[-1] = Clipped.apply(values[-1], number)

    def tracked_view(self, values, number):
        own = values[-1] * 1.0
        own[1:4].mul_(number)
        own.t()[2].add_(own.select(1, 0))
        own.view(-1)[::5] = 0.25
        values[-1] = own * own

    def hooked_module(self, values, number):
        handle = self.layer[0].register_forward_hook(lambda m, args, out: out * number)
        before = self.layer[0].register_forward_pre_hook(lambda m, args: (args[0] + 1,))
        values[-1] = values[-1] + self.layer[0](values[-1].float())
        if number < 0.6:
            handle.remove()
        before.remove()

    def inner(self, values, number):
        out = self.inner_call(self.given(values) * number)
        values[-1] = values[-1] + out

    def accumulated(self, values, number):
        for part in self.given(values).chunk(3):
            self.layer[0](part).square().sum().backward()
        if number < 0.4:
            with torch.no_grad():
                for p in self.layer.parameters():
                    p.sub_(p.grad.sign(), alpha=1e-3)
            self.layer.zero_grad()

    def averaged(self, values, number):
        with torch.no_grad():
            for own, p in zip(self.average.parameters(), self.small.parameters(), strict=True):
                own.lerp_(p, number) if number < 0.5 else own.mul_(number).add_(p, alpha=1 - number)
        values[-1] = values[-1] + self.average(self.given(values))

    def twice(self, values, number):
        x = self.given(values).requires_grad_()
        loss = (x.tanh() * self.weight).sum()
        loss.backward(retain_graph=True)
        loss.backward(inputs=[x])
        values[-1] = values[-1] + x.grad * number

    def reloaded(self, values, number):
        state = {name: t.clone() for name, t in self.small.state_dict().items()}
        values[-1] = values[-1] + self.small(self.given(values)).detach() * number
        self.small.load_state_dict(state)
        if number < 0.3:
            self.optimizer.load_state_dict(self.optimizer.state_dict())

    def foreach(self, values, number):
        own = [values[-1].detach() * 1.0, values[-1].detach() + 1]
        torch._foreach_mul_(own, number)
        torch._foreach_add_(own, own[::-1], alpha=0.5)
        values[-1] = values[-1] + own[0] - own[1]

    def leaf_hook(self, values, number):
        x = self.given(values).requires_grad_()
        x.register_hook(lambda g: g * number)
        x.register_post_accumulate_grad_hook(lambda t: self.said.append(t.grad.sum().item()))
        (x * x * self.weight.detach()).sum().backward()
        values[-1] = values[-1] + x.grad

    def reentrant(self, values, number):
        x = values[-1]
        if number < 0.5 and x.requires_grad:
            values[-1] = checkpoint(lambda t: (t * number).sin() * t, x, use_reentrant=True)
        else:
            values[-1] = checkpoint(lambda t: torch.dropout(t, 0.3, True) * t, x, use_reentrant=False)

    def detached(self, values, number):
        own = values[-1] * number
        kept = own * own
        own.detach_()
        own.add_(1).requires_grad_()
        kept_grad = torch.autograd.grad((own.float().sin() * number).sum(), own)[0]
        values[-1] = kept + kept_grad

    def several(self, values, number):
        top, where = values[-1].float().topk(3, -1)
        low, high = torch.aminmax(values[-1].float())
        values[-1] = values[-1] + top.sum(-1, keepdim=True) * number + (low + high)
        self.said.append(where.sum().item())

    def threaded_backward(self, values, number):
        x = self.given(values).requires_grad_()
        y = (x * number).exp().sum()
        other = threading.Thread(target=y.backward)
        other.start()
        other.join()
        values[-1] = values[-1] + x.grad

    def scaled(self, values, number):
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0, enabled=number < 0.8)
        self.optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = self.small(self.given(values)).float().abs().mean()
        scaler.scale(loss).backward()
        scaler.step(self.optimizer)
        scaler.update()
        self.said.append(scaler.get_scale())

    def frozen_stats(self, values, number):
        self.small.eval()
        for p in self.small[0].parameters():
            p.requires_grad_(number < 0.5)
        values[-1] = values[-1] + self.small(self.given(values))
        self.small.train()
        for p in self.small[0].parameters():
            p.requires_grad_(True)

    def resized(self, values, number):
        rows = 1 + self.count_of_calls() % 5
        x = self.given(values)[:rows].contiguous()
        out = self.layer[0](x) if number < 0.5 else (x @ x.t()).softmax(-1) @ x
        values[-1] = values[-1] + out.sum(0) * number


def differs(seed, backward, wrap=matched):
    """What is not as eager; empty if all is. Of three seeds, one compiles the program, one a module in it, and
    one both.
    """
    g = torch.Generator().manual_seed(seed)
    inputs = [tuple(torch.randn(SHAPE, generator=g) for _ in range(2)) for _ in range(7)]

    def plain(function):
        return function

    def told(outside, inside):
        def make():
            torch.manual_seed(seed)
            return MoreEffects(seed, inside)

        try:
            return run_all(make, outside, inputs, backward), ""
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"

    outside, inside = [(wrap, plain), (plain, wrap), (wrap, wrap)][seed % 3]
    (eager, first), (found, second) = told(plain, plain), told(outside, inside)
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
    for name in ("layer", "small", "average"):
        pairs += [*zip(*[getattr(c, name).state_dict(keep_vars=True).values() for c in (a, b)], strict=True)]
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
    wrap = torch.compile if sys.argv[3:] == ["compile"] else matched
    np.seterr(all="ignore")
    for seed in range(low, high):
        for backward in (False, True):
            try:
                why = differs(seed, backward, wrap)
            except Exception:
                why = traceback.format_exc()
            if why:
                print(seed, backward, why, flush=True)


if __name__ == "__main__":
    main()
