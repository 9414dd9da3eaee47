"""Gradients through calls that share tensors, between two workers; each prints what it has seen."""

import os

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc

rank = int(os.environ["RANK"])


def step(x):
    return x * x + x


class Blind(torch.autograd.Function):
    @staticmethod
    def forward(ctx, seen, unseen):
        return seen + unseen

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise RuntimeError("a mistake of my own")


def twice(x):
    y = rpc.rpc_async("w1", step, (x,))
    return (y.wait() + rpc.rpc_sync("w1", step, (x,))) / 2


def many_layers():
    """Two calls in each: 2 ** 12 ways back."""
    for _ in range(10):
        with dist_autograd.context() as context:
            x = a = torch.full((2,), 0.1, requires_grad=True)
            b = a.detach().requires_grad_()
            y = b
            for _ in range(12):
                x, y = twice(x), step(y)
            dist_autograd.backward(context, [x.sum()])
            expected = torch.autograd.grad(y.sum(), b)[0]
            torch.testing.assert_close(dist_autograd.get_gradients(context)[a], expected)


def hooks_see_sums():
    seen = []
    with dist_autograd.context() as context:
        a = torch.ones(2, requires_grad=True)
        middle = a * 2
        middle.register_hook(lambda gradient: seen.append(gradient.tolist()))
        x, y = middle + 1, middle * 3
        total = rpc.rpc_sync("w1", torch.mul, (x, 2)) + rpc.rpc_sync("w1", torch.mul, (y, 2)) + middle
        dist_autograd.backward(context, [total.sum()], retain_graph=True)
        assert seen == [[9, 9]]
        assert dist_autograd.get_gradients(context)[a].tolist() == [18, 18]
        dist_autograd.backward(context, [total.sum()])
        assert dist_autograd.get_gradients(context)[a].tolist() == [36, 36]


def leaves_have_their_own():
    with dist_autograd.context() as context:
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        dist_autograd.backward(context, [(a + b).sum()])
        found = dist_autograd.get_gradients(context)
        found[a][0] += 1
        assert found[a].tolist() == [2, 1] and found[b].tolist() == [1, 1]


def some_get_none():
    """A gradient that a function does not give; and a call whose result is not used."""
    with dist_autograd.context() as context:
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        sent = b * 2
        x, y = rpc.rpc_sync("w1", step, (a,)), rpc.rpc_sync("w1", step, (sent,))
        rpc.rpc_sync("w1", step, (a,))
        dist_autograd.backward(context, [Blind.apply(x, y).sum()])
        found = dist_autograd.get_gradients(context)
        assert found[a].tolist() == [3, 3] and (b not in found or not found[b].any())


def mistakes_are_told():
    with dist_autograd.context() as context:
        a = torch.ones(2, requires_grad=True)
        x = rpc.rpc_sync("w1", step, (rpc.rpc_sync("w1", Broken.apply, (a,)),))
        try:
            dist_autograd.backward(context, [x.sum()])
        except RuntimeError as error:
            assert "Error on Node 1: a mistake of my own" in str(error)
        else:
            raise AssertionError("no error")


rpc.init_rpc(f"w{rank}", rank=rank, world_size=2)
if rank == 0:
    for part in (many_layers, hooks_see_sums, leaves_have_their_own, some_get_none, mistakes_are_told):
        part()
rpc.shutdown()
print("ended in order", flush=True)
