"""nn.DataParallel and torch.nn.parallel's functions, on two devices."""

from __future__ import annotations

import copy
import threading
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import parallel


class Net(nn.Module):
    """Two layers and a norm; what `named` holds is a second result."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.norm, self.two = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, x: Any, scale: float = 1.0) -> dict[str, Any]:
        return {"y": self.two(torch.relu(self.norm(self.one(x)))) * scale, "sum": x.sum()}


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_a_batch_is_cut_and_gradients_are_added_up(where: str) -> None:
    net = Net().cuda()
    alone, many = copy.deepcopy(net), nn.DataParallel(net)
    assert many.device_ids == [0, 1] and list(many.state_dict())[0] == "module.one.weight"
    x = torch.randn(8, 6).to(where).requires_grad_()
    with pytest.warns(UserWarning, match="all input tensors were scalars"):
        found = many(x, scale=2.0)
    halves = []
    for half in x.cuda().chunk(2):
        halves.append(alone(half, scale=2.0))
        if len(halves) == 1:
            first = alone.norm.running_mean.clone()
    assert torch.equal(net.norm.running_mean, first)  # the first device's buffers are the module's
    wanted = torch.cat([h["y"] for h in halves])
    torch.testing.assert_close(found["y"], wanted)
    assert found["sum"].shape == (2,) and found["y"].device == torch.device("cuda", 0)
    gradients = torch.autograd.grad(found["y"].square().sum(), [x, *net.parameters()])
    others = torch.autograd.grad(wanted.square().sum(), [x, *alone.parameters()])
    for a, b in zip(gradients, others, strict=True):
        torch.testing.assert_close(a, b)
    with torch.no_grad():
        assert not parallel.data_parallel(net, x.cuda())["y"].requires_grad
    with torch.autocast("cuda", torch.bfloat16):
        assert many(x)["y"].dtype is torch.bfloat16


def test_what_is_refused() -> None:
    class Bad(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError(f"not on {x.device}")

    x = torch.ones(4, 2, device="cuda")
    with pytest.raises(ValueError, match=r"(?s)in replica 0 on device 0.*not on cuda:0"):
        nn.DataParallel(Bad())(x)
    with pytest.raises(RuntimeError, match="must have its parameters and buffers on device cuda:0"):
        nn.DataParallel(nn.Linear(2, 2))(x)
    with pytest.raises(RuntimeError, match="same length, but got len"):
        parallel.comm.scatter(x, [0, 1], [4])
    with pytest.raises(RuntimeError, match=r"all tensors must be on devices\[0\]: 1"):
        parallel.comm.broadcast_coalesced([x], [1, 0])
    with pytest.raises(RuntimeError, match="tensor at index 1 has device 'cpu'"):
        parallel.comm.gather([x, x.cpu()])


def test_cuda_moves_to_the_current_device() -> None:
    layer = nn.Linear(2, 2, device="cuda:1")
    assert layer.weight.cuda().get_device() == 0 and layer.cuda().weight.get_device() == 0
    with torch.cuda.device(1):
        assert layer.weight.cuda().get_device() == 1 and layer.cuda().weight.get_device() == 1


@pytest.mark.parametrize("device", ["cpu", "cuda:1", "meta"])
def test_gradients_that_a_function_is_not_given_lie_on_its_results_devices(device: str) -> None:
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1, x * 2

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            assert grads[1].device == torch.device(device)
            return grads[0] + grads[1]

    x = torch.ones(3, device=device, requires_grad=True)
    Two.apply(x)[0].sum().backward()
    assert x.grad is not None and x.grad.device == torch.device(device)


def test_gradients_of_gradients() -> None:
    net = nn.Linear(4, 1).cuda()
    x = torch.ones(2, 4, device="cuda", requires_grad=True)
    found = nn.DataParallel(net)(x)
    (slope,) = torch.autograd.grad(found.sum(), [x], create_graph=True)
    slope.mean().backward()
    assert net.weight.grad is not None and net.weight.grad.tolist() == [[0.25] * 4]


def test_copies_and_sums() -> None:
    x = torch.arange(12.0).reshape(4, 3).cuda()
    here, there = parallel.comm.broadcast(x, [0, 1])
    assert here is x and there.get_device() == 1 and there.tolist() == x.tolist()
    parts = parallel.comm.scatter(x, [0, 1], [1, 3])
    assert [p.shape[0] for p in parts] == [1, 3] and parts[0].data_ptr() == x.data_ptr()
    assert parallel.comm.gather(parts, destination="cpu").tolist() == x.tolist()
    out = [torch.zeros(2, 3, device="cuda:1"), torch.zeros(2, 3, device="cuda:0")]
    parallel.comm.scatter(x, out=out)
    assert out[0].tolist() == x[:2].tolist() and out[1].tolist() == x[2:].tolist()
    mixed = [x, x.long(), x.to_sparse(), x + 1j]
    copied = parallel.comm.broadcast_coalesced(mixed, [0, 1], 64)[1]
    assert [t.dtype for t in copied] == [torch.float32, torch.int64, torch.float32, torch.float32]
    sums = parallel.comm.reduce_add_coalesced([[x, x.to_sparse()], [there, there.to_sparse()]], 0)
    assert sums[0].tolist() == (2 * x).tolist() and sums[1].is_sparse
    assert sums[1].to_dense().tolist() == (2 * x).tolist()


def test_threads_may_wait_for_one_anothers_streams() -> None:
    here, there = torch.cuda.Stream(0), torch.cuda.Stream(1)
    cells = [torch.zeros(4, device=d) for d in range(2)]

    def work(device: int, mine: Any, other: Any) -> None:
        with torch.cuda.device(device), torch.cuda.stream(mine):
            for number in range(100):
                cells[device].add_(1)
                mine.wait_stream(other)
                if not number % 10:
                    mine.synchronize()

    threads = [threading.Thread(target=work, args=a) for a in ((0, here, there), (1, there, here))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    assert [c.tolist() for c in cells] == [[100.0] * 4] * 2
