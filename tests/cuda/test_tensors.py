"""Tensors on a simulated CUDA device: made, moved, viewed, written, printed, saved."""

from __future__ import annotations

import copy
import ctypes
import io
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn


def test_there_are_devices() -> None:
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2
    assert "Simulated" in torch.cuda.get_device_name()
    assert torch.cuda.get_device_properties(1).total_memory == 1 << 30
    assert torch.cuda.get_device_capability() == (8, 0)
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(2, device="cuda:2")


def test_a_tensor_goes_and_comes_back() -> None:
    x = torch.randn(3, 4)
    there = x.to("cuda")
    assert there.device == torch.device("cuda", 0) and there.is_cuda and not there.is_cpu
    assert there.get_device() == 0 and there.type() == "torch.cuda.FloatTensor"
    assert there.cuda() is there and there.to("cuda:0") is there and x.cpu() is x
    assert torch.equal(there.cpu(), x) and there.tolist() == x.tolist()
    assert there.cuda(1).device.index == 1 and torch.equal(there.cuda(1).cpu(), x)
    assert x.t().cuda().stride() == (1, 4)
    assert there.half().dtype is torch.float16


def test_numpy_cannot_reach_it() -> None:
    there = torch.ones(3, device="cuda")
    for attempt in (
        there.numpy,
        lambda: np.asarray(there),
        lambda: np.asarray(there._array),
        lambda: memoryview(there._array),
    ):
        with pytest.raises(TypeError):
            attempt()
    code = f"import ctypes; ctypes.string_at({there.data_ptr()}, 4)"
    assert ctypes.sizeof(ctypes.c_void_p) and subprocess.run([sys.executable, "-c", code]).returncode < 0


def test_printing_says_where() -> None:
    assert repr(torch.tensor([1.0, 2.0], device="cuda")) == "tensor([1., 2.], device='cuda:0')"
    assert f"{torch.tensor(1.5, device='cuda'):.1f}" == "1.5"


def test_views_share_memory() -> None:
    x = torch.zeros(4, 6, device="cuda")
    x[1] = 3
    x[:, 2] += 1
    x.view(6, 4)[0, 0] = 7
    x.t()[5, 3] = 9
    x.diagonal()[2] = -1
    want = torch.zeros(4, 6)
    want[1] = 3
    want[:, 2] += 1
    want.view(6, 4)[0, 0] = 7
    want.t()[5, 3] = 9
    want.diagonal()[2] = -1
    assert torch.equal(x.cpu(), want)
    assert x[1].storage_offset() == 6 and x[1].data_ptr() == x.data_ptr() + 24
    assert x.unfold(1, 2, 2).shape == (4, 3, 2) and x.as_strided((2, 2), (1, 2), 3).stride() == (1, 2)


def test_indexing() -> None:
    x, at = torch.arange(12.0).view(3, 4), torch.tensor([0, 2])
    g = x.cuda()
    for index in (at, at.cuda(), (slice(None), at.cuda()), g > 5, (0, 1), ..., None, (at.cuda(), at.cuda())):
        same = (
            tuple(i.cpu() if isinstance(i, torch.Tensor) else i for i in index)
            if isinstance(index, tuple)
            else index.cpu()
            if isinstance(index, torch.Tensor)
            else index
        )
        assert torch.equal(g[index].cpu(), x[same])
    g[g > 5] = 0.5
    g[at] = torch.ones(4, device="cuda")
    assert g.sum().item() == x.clone().masked_fill(x > 5, 0.5).index_fill(0, at, 1).sum().item()
    assert [v.item() for v in g[0]] == [1, 1, 1, 1]


def test_factories_and_the_default_device() -> None:
    assert torch.full((2,), 3, device="cuda").tolist() == [3, 3]
    assert torch.tensor([[1, 2]], device="cuda").dtype is torch.int64
    assert torch.zeros_like(torch.ones(2, device="cuda")).device.type == "cuda"
    assert torch.ones(2, device="cuda").new_zeros(3).device.type == "cuda"
    with torch.device("cuda:1"):
        assert torch.empty(2).device.index == 1 and torch.tensor(1.0).device.index == 1
    torch.set_default_device("cuda")
    assert torch.randn(2).device == torch.device("cuda:0") and nn.Linear(2, 2).weight.is_cuda
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1 and torch.ones(1, device="cuda").device.index == 1


def test_uninitialised_memory_is_poisoned() -> None:
    assert bool(torch.empty(3, device="cuda").isnan().all())
    assert torch.empty(2, dtype=torch.int64, device="cuda").tolist() == [-1, -1]


def test_copies() -> None:
    a, b = torch.zeros(2, 3, device="cuda"), torch.arange(3)
    a.copy_(b)
    assert a.tolist() == [[0, 1, 2]] * 2
    host = torch.zeros(2, 3)
    host.copy_(a)
    assert host.tolist() == a.tolist()
    a.data = torch.ones(2, device="cuda")
    assert copy.deepcopy(a).tolist() == [1, 1] and pickle.loads(pickle.dumps(a)).is_cuda


def test_saving_and_map_location() -> None:
    file = io.BytesIO()
    torch.save({"there": torch.ones(2, device="cuda:1"), "here": torch.zeros(2)}, file)

    def load(**how: object) -> dict[str, torch.Tensor]:
        file.seek(0)
        return torch.load(file, **how)  # type: ignore[no-any-return]

    assert load()["there"].device == torch.device("cuda:1") and load()["here"].is_cpu
    assert load(map_location="cpu")["there"].is_cpu
    assert load(map_location={"cuda:1": "cuda:0"})["there"].device.index == 0
    assert load(map_location="cuda:0")["here"].is_cuda
    assert load(map_location=lambda storage, location: storage.cuda(0))["there"].device.index == 0
    with pytest.raises(RuntimeError, match="device_count\\(\\) is 2"):
        load(map_location="cuda:3")


def test_modules_move_with_their_buffers() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    weight, optimizer = model[0].weight, torch.optim.SGD(model.parameters(), 0.1)
    model.cuda()
    assert model[0].weight is weight and all(t.is_cuda for t in (*model.parameters(), *model.buffers()))
    model(torch.randn(5, 3, device="cuda")).sum().backward()
    before = weight.detach().clone()
    optimizer.step()
    assert weight.grad is not None and weight.grad.is_cuda and not torch.equal(before, weight)
    model.to("cpu")
    assert weight.grad.is_cpu and model[1].running_mean.is_cpu


@pytest.mark.parametrize(
    "mix",
    [
        lambda a, b: a + b,
        lambda a, b: b * a,
        lambda a, b: a @ b,
        lambda a, b: torch.cat([a, b]),
        lambda a, b: torch.where(a > 0, a, b),
        lambda a, b: a.add_(b),
        lambda a, b: torch.add(a, b),
        lambda a, b: nn.functional.linear(a, b),
        lambda a, b: nn.functional.mse_loss(a, b),
        lambda a, b: torch.stack([a, b]),
        lambda a, b: a.lerp(b, 0.5),
        lambda a, b: torch.einsum("ij,jk->ik", a, b),
        lambda a, b: nn.functional.layer_norm(a, (2,), b[0], b[0]),
        lambda a, b: torch.maximum(a, b),
        lambda a, b: nn.functional.cross_entropy(a, b[0].long()),
        lambda a, b: a.addmm(b, a),
        lambda a, b: torch.add(a, a, out=b),
    ],
)
def test_devices_do_not_mix(mix: object) -> None:
    here, there = torch.ones(2, 2), torch.ones(2, 2, device="cuda")
    for a, b in ((here, there), (there, here), (there, there.cuda(1))):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            mix(a, b)  # type: ignore[operator]


def test_meta_does_not_mix_either() -> None:
    with pytest.raises(RuntimeError):
        torch.ones(2) + torch.ones(2, device="meta")
    with pytest.raises(RuntimeError):
        torch.ones(2, device="cuda") + torch.ones(2, device="meta")


def test_numbers_of_the_cpu_go_with_a_device() -> None:
    there = torch.ones(2, device="cuda", requires_grad=True)
    factor = torch.tensor(3.0, requires_grad=True)
    (there * factor).sum().backward()
    assert there.grad.tolist() == [3, 3] and factor.grad.item() == 2 and factor.grad.is_cpu


def test_gradients_go_back_over_copies() -> None:
    x = torch.ones(2, requires_grad=True)
    (x.cuda() * 2).cuda(1).sum().backward()
    assert x.grad.tolist() == [2, 2] and x.grad.is_cpu


def test_what_lies_around_a_training_run(tmp_path: object) -> None:
    model = nn.Linear(3, 2).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3, device="cuda")).sum().backward()
    optimizer.step()
    kept = {
        k: v.cpu() if isinstance(v, torch.Tensor) else v for k, v in optimizer.state[model.weight].items()
    }
    optimizer.load_state_dict({**optimizer.state_dict(), "state": {0: kept, 1: optimizer.state[model.bias]}})
    assert optimizer.state[model.weight]["exp_avg"].is_cuda  # brought to where the parameter is
    checkpoint, weight = (
        torch.Checkpoint(tmp_path, model=model, optimizer=optimizer),
        model.weight.detach().clone(),
    )
    checkpoint.save(1)
    model.weight.data.zero_()
    checkpoint.load()
    assert torch.equal(weight, model.weight) and model.weight.is_cuda
    average = torch.optim.swa_utils.AveragedModel(model)
    average.update_parameters(model)
    assert next(average.parameters()).is_cuda
    data = torch.utils.data.TensorDataset(torch.arange(6, device="cuda"))
    assert sorted(x.item() for (x,) in torch.utils.data.DataLoader(data, shuffle=True)) == list(range(6))


def test_a_forked_child_may_not_use_it() -> None:
    code = (
        "import os, rushlight as torch\nx = torch.ones(2, device='cuda')\nbad = torch.cuda._is_in_bad_fork\n"
        "if os.fork() == 0:\n    print(bad(), flush=True)\n    for use in (lambda: x + 1, lambda: torch.ones(1, device='cuda')):\n"
        "        try: use(); print('used')\n        except RuntimeError as e: print('forked subprocess' in str(e), flush=True)\n"
        "    os._exit(0)\nos.wait()\nprint(bad(), torch.cuda._is_compiled())"
    )
    environment = {**os.environ, "RUSHLIGHT_CUDA": "simulated:1GB"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["True", "True", "True", "False", "True"], done.stderr


def test_what_is_not_there_says_so() -> None:
    with pytest.raises(NotImplementedError, match="'CUDA' backend"):
        torch.histogram(torch.ones(2, device="cuda"), 2)


def test_tensorboard_takes_tensors_of_devices() -> None:
    from rushlight.utils.tensorboard.values import number

    assert number(torch.full((1,), 2.5, device="cuda", requires_grad=True)) == 2.5


def test_moves_under_transforms() -> None:
    x = torch.rand(2, 3, dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: x.to("cpu") ** 2, (x,), check_forward_ad=True)
    x = x.detach()
    found = torch.func.vmap(lambda row: row.cpu() * 2)(x)
    assert found.device.type == "cpu" and found.equal(x.cpu() * 2)
    value, tangent = torch.func.jvp(lambda x: x.to("cpu", torch.float32) * 3, (x,), (torch.ones_like(x),))
    assert value.dtype is tangent.dtype is torch.float32 and tangent.tolist() == [[3.0] * 3] * 2
    assert torch.func.jacrev(lambda row: row.cpu() ** 2)(x[0]).diagonal().allclose(2 * x[0])
    assert torch.func.hessian(lambda row: (row.cpu() ** 3).sum())(x[0]).diagonal().allclose(6 * x[0])
    with torch.autograd.forward_ad.dual_level():
        target = torch.zeros(2, 3, dtype=torch.float64)
        target.copy_(torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)))
        assert torch.autograd.forward_ad.unpack_dual(target).tangent.tolist() == [[1.0] * 3] * 2


def test_memory_that_nobody_has_written_is_filled_where_asked() -> None:
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(3, 2, out=torch.zeros(1, device="cuda")).isnan().all()
        grown = torch.zeros(2, dtype=torch.int64, device="cuda").resize_(9)
        assert grown[:2].tolist() == [0, 0] and grown[2:].eq(torch.iinfo(torch.int64).max).all()
    finally:
        torch.use_deterministic_algorithms(before)
