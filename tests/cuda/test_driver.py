"""A real device over an imitation of libcuda and cuBLASLt: sequences of calls, errors, leaks, whole steps."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.core.accelerator import platform
from rushlight._engine.core.settings import settings
from rushlight._engine.devices.cuda.driver import blas, library, modules
from rushlight._engine.devices.cuda.served import multiplying
from tests.cuda.conftest import use
from tests.cuda.fake_driver import FakeDriver, install

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.devices("driver")
F = torch.nn.functional


def same(function: Any, *given: torch.Tensor) -> None:
    """The device gives what the CPU gives, and so do gradients."""
    here = [t.clone().requires_grad_(t.is_floating_point()) for t in given]
    there = [t.cuda().requires_grad_(t.is_floating_point()) for t in given]
    want, found = function(*here), function(*there)
    assert found.is_cuda and found.shape == want.shape and found.stride() == want.stride()
    torch.testing.assert_close(found.cpu(), want, equal_nan=True, rtol=1e-5, atol=1e-5)
    if want.requires_grad:
        want.sum().backward()
        found.sum().backward()
        for a, b in zip(here, there, strict=True):
            if a.grad is not None:
                torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-5, atol=1e-5)


def test_what_there_is() -> None:
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2
    assert torch.cuda.get_device_name() == "Fake H100"
    assert torch.cuda.get_device_capability() == (9, 0)
    told = torch.cuda.get_device_properties(1)
    assert told.total_memory == 1 << 30 and told.multi_processor_count == 4 and told.major == 9
    assert told.shared_memory_per_block_optin == 232448 and told.uuid.startswith("01020304-0506")
    assert torch.cuda.can_device_access_peer(0, 1) and not torch.cuda.can_device_access_peer(0, 0)


CASES: dict[str, Any] = {
    "pointwise": lambda x, y: F.gelu(x) * y + 2,
    "broadcast": lambda x, y: x * y[:, :1] + y[0],
    "views": lambda x, y: x.t() + y.t()[:, ::1],
    "sum": lambda x, y: (x * y).sum(),
    "sum of columns": lambda x, y: (x * y).sum(0),
    "mean of rows": lambda x, y: (x * y).mean(1, keepdim=True),
    "softmax": lambda x, y: F.softmax(x, 1) * y,
    "log_softmax of columns": lambda x, y: F.log_softmax(x, 0) * y,
    "layer_norm": lambda x, y: F.layer_norm(x, (6,), y[0], y[1]),
    "products": lambda x, y: x @ y.t() @ x,
    "linear": lambda x, y: F.linear(x, y, y[:, 0]),
    "cat": lambda x, y: torch.cat([x, y], 1).cumsum(1),
    "stack": lambda x, y: torch.stack([x, y], 1).flip(0),
    "masked_fill": lambda x, y: x.masked_fill(y > 0, 3.0),
    "tril": lambda x, y: x.tril() + y.triu(1),
    "where": lambda x, y: torch.where(x > y, x, y * 2),
    "max": lambda x, y: x.max(1).values + y.amax(1),
    "half": lambda x, y: (x.bfloat16() + y.bfloat16()).float(),
    "convolution": lambda x, y: F.conv2d(x[None, None], y[None, None, :2, :3], padding=1),
    "pools": lambda x, y: F.avg_pool2d(F.max_pool2d((x * y)[None, None], 2), 2),
    "pad": lambda x, y: F.pad(x, (1, 2)) + 1,
    "attention": lambda x, y: F.scaled_dot_product_attention(x[None], y[None], y[None], is_causal=True),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_forward_and_backward(name: str) -> None:
    same(CASES[name], torch.randn(5, 6), torch.randn(5, 6))


@pytest.mark.parametrize("name", ["float64", "float16", "int64", "bool"])
def test_dtypes_move(name: str) -> None:
    x = (torch.randn(4, 5) * 3).to(getattr(torch, name))
    assert torch.equal(x.cuda().t().contiguous().cpu(), x.t())
    assert torch.equal(x.cuda().to(torch.float32).cpu(), x.to(torch.float32))


def test_reads_and_writes_at_positions() -> None:
    x, i = torch.randn(7, 4), torch.tensor([3, 0, 3, 6])
    g, j = x.cuda(), i.cuda()
    assert torch.equal(g[j].cpu(), x[i]) and torch.equal(g[:, j.clamp(max=3)].cpu(), x[:, i.clamp(max=3)])
    assert torch.equal(g[-j].cpu(), x[-i])
    assert torch.equal(g.gather(0, j[:, None].expand(4, 4)).cpu(), x.gather(0, i[:, None].expand(4, 4)))
    want = x.scatter_add(0, i[:, None].expand(4, 4), torch.ones(4, 4))
    assert torch.equal(g.scatter_add(0, j[:, None].expand(4, 4), torch.ones(4, 4).cuda()).cpu(), want)
    w, v = torch.randn(7, 3, requires_grad=True), None
    v = w.detach().cuda().requires_grad_()
    F.embedding(i, w).pow(2).sum().backward()
    F.embedding(j, v).pow(2).sum().backward()
    torch.testing.assert_close(v.grad.cpu(), w.grad)


def test_a_wrong_index_kills_the_context() -> None:
    x = torch.randn(4).cuda()
    x[torch.tensor([9]).cuda()]
    with pytest.raises(torch.AcceleratorError, match="device-side assert triggered"):
        torch.cuda.synchronize()
    with pytest.raises(torch.AcceleratorError, match="device-side assert triggered"):
        x + 1


def step_of(device: str) -> list[float]:
    """A few steps of a small network with everything in it."""
    torch.manual_seed(3)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(4 * 16, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3),
    )  # fmt: skip
    x, y = torch.randn(6, 1, 6, 6), torch.tensor([0, 2, 1, 1, 0, 2])
    net, x, y = net.to(device), x.to(device), y.to(device)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        found.append(loss.item())
    return found


def test_training_gives_the_same_losses(fake: FakeDriver) -> None:
    assert step_of("cuda") == pytest.approx(step_of("cpu"), abs=1e-5)
    # Nothing is copied to the host but the losses.
    assert fake.calls["cuMemcpyDtoHAsync_v2"] == 3


def test_a_kernel_is_made_once(fake: FakeDriver) -> None:
    x = torch.randn(8).cuda()
    for _ in range(5):
        x.exp()
    assert fake.calls["cuLaunchKernel"] == 5 and fake.calls["cuModuleLoadData"] == 1
    assert len(set(fake.launched)) == 1
    # The sequence of a launch: nothing but the launch once a kernel and memory are there.
    before = len(fake.log)
    x.exp()
    assert fake.log[before:] == ["cuLaunchKernel"]


def test_machine_code_is_kept_on_disk(fake: FakeDriver, tmp_path: Any) -> None:
    with settings.using(cache_dir=str(tmp_path)):
        torch.ones(3).cuda().sinh()
        made = fake.calls["cuLinkComplete"]
        again = FakeDriver()
        install(again)
        use("driver")
        torch.ones(3).cuda().sinh()
    assert made >= 1 and again.calls["cuLinkComplete"] == 0 and again.calls["cuModuleLoadData"] >= 1


def test_memory_goes_back(fake: FakeDriver) -> None:
    x = torch.zeros(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() == 4 << 20 and torch.cuda.memory_reserved() == 20 << 20
    del x
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0 and fake.kinds()["memory"] == 0
    assert torch.cuda.mem_get_info()[0] == 1 << 30


def test_streams_and_events_are_given_back(fake: FakeDriver) -> None:
    before = fake.kinds()
    s, e, f = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(s):
        e.record()
        torch.ones(4, device="cuda").exp()
        f.record()
    torch.cuda.current_stream().wait_stream(s)
    torch.cuda.synchronize()
    assert e.elapsed_time(f) >= 0 and s.query() and f.query()
    assert fake.kinds()["stream"] == before["stream"] + 1
    del e, f
    assert fake.kinds()["event"] == before["event"]


def test_out_of_memory_and_after_it(fake: FakeDriver) -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 2\.00 GiB. GPU 0 has a total"):
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    assert torch.zeros(4, device="cuda").sum().item() == 0
    fake.planted["cuMemAlloc_v2"] = [2, 2]
    with pytest.raises(torch.OutOfMemoryError):
        torch.zeros(1 << 22, device="cuda")


def test_an_illegal_access_loses_the_context(fake: FakeDriver) -> None:
    x = torch.ones(4, device="cuda")
    fake.planted["cuLaunchKernel"] = [700]
    with pytest.raises(torch.AcceleratorError, match="illegal memory access.*cuLaunchKernel"):
        x + 1
    with pytest.raises(
        torch.AcceleratorError, match="context of cuda:0 is lost, first seen by cuLaunchKernel at"
    ):
        x + 1
    with pytest.raises(torch.AcceleratorError, match=r"test_driver\.py:\d+"):
        torch.cuda.synchronize()


def test_other_errors_are_the_calls_own(fake: FakeDriver) -> None:
    x = torch.ones(4, device="cuda")
    fake.planted["cuLaunchKernel"] = [1]
    with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid argument"):
        x + 1
    assert (x + 1).sum().item() == 8


def test_a_kernel_that_the_driver_refuses(fake: FakeDriver, tmp_path: Any) -> None:
    fake.planted["cuLinkAddData_v2"] = [218]
    with settings.using(cache_dir=str(tmp_path)):
        with pytest.raises(RuntimeError, match=r"CUDA 13000\) does not take a kernel for sm_90: .*218"):
            torch.ones(3, device="cuda").cosh()
    assert fake.kinds()["link"] == 0


def test_the_assemblers_words_come_with_the_lines_that_they_name() -> None:
    text = ".version 7.8\n.target sm_90\n.visible .entry k()\n{\nmov.u31 %r1, 2;\nret;\n}"
    log = "ptxas application ptx input, line 5; fatal   : Parsing error near '.u31': syntax error"
    told = modules.quoted(text, log).split("\n    ")
    assert told == ["", ".version 7.8", ".target sm_90", "5: mov.u31 %r1, 2;"]


def test_an_error_has_the_arguments(fake: FakeDriver) -> None:
    x = torch.ones(300, device="cuda")
    for _ in range(4):  # the later ones by generated functions
        x * 3
        fake.planted["cuLaunchKernel"] = [1]
        with pytest.raises(
            torch.AcceleratorError, match=r"error 1 of cuLaunchKernel\(pointwise kernel_\w+ 0x"
        ):
            x * 3
    fake.planted["cuMemAlloc_v2"] = [1]
    with pytest.raises(torch.AcceleratorError, match=r"error 1 of cuMemAlloc_v2\(&0, 0x1400000\)"):
        torch.empty(1 << 21, dtype=torch.uint8, device="cuda:1")


def test_a_blocking_launch_names_the_kernel(fake: FakeDriver, monkeypatch: Any) -> None:
    x = torch.ones(300, device="cuda")
    monkeypatch.setattr(platform(), "blocking", True)
    fake.planted["cuStreamSynchronize"] = [700]
    with pytest.raises(torch.AcceleratorError, match="illegal memory access") as raised:
        x.sinh()
    assert "The kernel was of 'pointwise': pointwise kernel_" in raised.value.__notes__[0]


def test_what_no_kernel_serves_is_refused_by_name() -> None:
    x = torch.randn(4, 4, dtype=torch.complex64).cuda()
    with pytest.raises(NotImplementedError, match=r"Could not run '.*' on cuda:0.*of complex matrices"):
        torch.linalg.svd(x)


# --- no driver, and wrong ones ---------------------------------------------------------------------


def test_no_driver(monkeypatch: Any) -> None:
    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(library.NoDriver, match="Found no NVIDIA driver on your system"):
        library.find()


def test_a_driver_that_is_too_old() -> None:
    install(FakeDriver(version=11040))
    with pytest.raises(RuntimeError, match=r"too old \(found version 11040: CUDA 11.4\)"):
        use("driver")


def test_a_driver_that_lacks_a_function() -> None:
    class Older(FakeDriver):
        _cuGraphLaunch = None  # type: ignore[assignment]

    old = library.Driver(Older())
    with pytest.raises(library.NoDriver, match="too old: it has no cuGraphLaunch"):
        old("cuGraphLaunch", 1, 0)


def test_a_driver_without_devices() -> None:
    install(FakeDriver(devices=0))
    with pytest.raises(RuntimeError, match="No CUDA GPUs are available"):
        use("driver")


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        torch.zeros(1, device="cuda:2")


def test_no_cublas(monkeypatch: Any) -> None:
    x = torch.ones(2, 2, device="cuda")
    monkeypatch.setattr(blas.Override, "library", None)
    monkeypatch.setattr(blas, "_places", lambda driver: ["libcublasLt.so.does-not-exist"])
    blas._installed.cache_clear()
    with pytest.warns(UserWarning, match=r"NVIDIA's cuBLAS.*rushlight\[cuda\].*slower kernels"):
        assert (x @ x).tolist() == [[2, 2], [2, 2]]
    blas._installed.cache_clear()


@pytest.fixture
def without_cublas(fake: FakeDriver, monkeypatch: Any) -> None:
    device: Any = platform().device(0)
    device._blas = multiplying.Products(device, "a test")


_TOLERANCES = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 2e-2, "float16": 3e-3, "complex64": 1e-5}


@pytest.mark.usefixtures("without_cublas")
@pytest.mark.parametrize("of", _TOLERANCES)
def test_products_by_the_devices_own_kernels(of: str) -> None:
    """In all layouts, of sizes that fill no tile, cut along the inner dim, and with a bias."""
    dtype, tolerance = getattr(torch, of), _TOLERANCES[of]
    wide = torch.complex128 if dtype.is_complex else torch.float64
    for rows, inner, columns in ((1, 1, 1), (3, 5, 7), (33, 20, 17), (40, 1026, 35), (1, 1500, 1)):
        a, b = torch.randn(rows, inner).to(dtype), torch.randn(inner, columns).to(dtype)
        want = a.to(wide) @ b.to(wide)
        for left in (a.cuda(), a.t().contiguous().cuda().t()):
            for right in (b.cuda(), b.t().contiguous().cuda().t()):
                for _ in range(3):  # the third is a generated function
                    found = (left @ right).cpu().to(wide)
                assert (found - want).abs().max() <= tolerance * inner**0.5 * 2
    x, y = torch.randn(2, 1, 4, 6).to(dtype), torch.randn(3, 6, 5).to(dtype)
    found = (x.cuda() @ y.cuda()).cpu().to(wide)
    assert (found - x.to(wide) @ y.to(wide)).abs().max() <= 10 * tolerance
    w, c = y[0].t().contiguous(), y[0, 0]
    layer = F.linear(x.cuda(), w.cuda(), c.cuda()).cpu().to(wide)
    assert (layer - F.linear(x.to(wide), w.to(wide), c.to(wide))).abs().max() <= 10 * tolerance
    assert (
        torch.randn(3, 0, device="cuda")
        .to(dtype)
        .matmul(torch.randn(0, 2, device="cuda").to(dtype))
        .eq(0)
        .all()
    )


@pytest.mark.usefixtures("without_cublas")
def test_a_step_without_cublas(fake: FakeDriver) -> None:
    assert step_of("cuda") == pytest.approx(step_of("cpu"), rel=1e-4)
    same(lambda x, y: F.conv2d(x[None, None], y[None, None, :2, :3]), torch.randn(5, 6), torch.randn(5, 6))


# --- several devices, graphs -------------------------------------------------------------------------


def test_copies_between_devices(fake: FakeDriver) -> None:
    x = torch.randn(5, 3)
    there = x.cuda(0).t().to("cuda:1")
    assert there.device.index == 1 and torch.equal(there.cpu(), x.t())
    assert fake.calls["cuMemcpyPeerAsync"] == 1
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cuda:1"):
        x.cuda(0).t() + there


def test_a_graph_is_one_launch(fake: FakeDriver) -> None:
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 1)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    x, loss = torch.randn(6, 4, device="cuda"), None

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        found = net(x).pow(2).mean()
        found.backward()
        optimizer.step()
        return found

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    losses = []
    for _ in range(4):
        before = len(fake.log)
        graph.replay()
        assert fake.log[before:] == ["cuGraphLaunch"]
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    graph.reset()
    assert fake.kinds()["executable graph"] == 0


def test_graphed_callables_give_the_same(fake: FakeDriver) -> None:
    torch.manual_seed(2)
    one = torch.nn.Linear(4, 3).cuda()
    two = torch.nn.Linear(4, 3).cuda()
    two.load_state_dict(one.state_dict())
    graphed = torch.cuda.make_graphed_callables(two, (torch.randn(2, 4, device="cuda"),))
    for _ in range(2):
        x = torch.randn(2, 4, device="cuda")
        one(x).pow(2).sum().backward()
        graphed(x).pow(2).sum().backward()
    torch.testing.assert_close(two.weight.grad.cpu(), one.weight.grad.cpu())
    assert fake.calls["cuGraphLaunch"] == 4


def test_what_cannot_be_captured() -> None:
    x = torch.ones(3, device="cuda")
    with pytest.raises(torch.AcceleratorError, match="not permitted when stream is capturing"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            (x + 1).sum().item()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        torch.cuda.CUDAGraph().capture_begin()
    with pytest.raises(RuntimeError, match="replay without a preceding successful capture"):
        torch.cuda.CUDAGraph().replay()
    assert (x + 1).sum().item() == 6


def test_random_numbers_are_drawn_by_kernels(fake: FakeDriver) -> None:
    torch.cuda.manual_seed(0)
    # PyTorch's published numbers on CUDA for this seed.
    found = torch.rand(6, device="cuda").tolist()
    assert found == pytest.approx([0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967], abs=5e-5)
    torch.cuda.manual_seed(0)
    known = [-0.92466259, -0.42534415, -2.6438457, 0.14518388, -0.12086647, -0.57972564]
    assert torch.randn(6, device="cuda").tolist() == pytest.approx(known, abs=2e-6)
    before = fake.calls["cuMemcpyHtoDAsync_v2"]
    F.dropout(torch.ones(64, device="cuda"), 0.5)
    torch.randint(0, 9, (5,), device="cuda")
    torch.empty(5, device="cuda").exponential_().bernoulli_(0.5)
    assert fake.calls["cuMemcpyHtoDAsync_v2"] == before


def test_dropout_is_another_one_in_each_replay() -> None:
    torch.cuda.manual_seed(4)
    wanted = [F.dropout(torch.ones(64, device="cuda"), 0.5).tolist() for _ in range(3)]
    x, graph = torch.ones(64, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = F.dropout(x, 0.5)
    torch.cuda.manual_seed(4)
    for want in wanted:
        graph.replay()
        assert found.tolist() == want


def test_a_training_step_is_one_launch(fake: FakeDriver) -> None:
    """Of a small GPT, with AdamW and dropout: beside the launch, only its numbers are copied."""
    from benchmarks.gpu.sections import _gpt

    torch.manual_seed(1)
    model = _gpt(torch, 11, 8, 16, 1, 2).cuda()
    adam = torch.optim.AdamW(model.parameters(), 1e-2, capturable=True)
    x = torch.randint(0, 11, (2, 8), device="cuda")

    def step() -> torch.Tensor:
        adam.zero_grad(set_to_none=True)
        loss = model(x, x) + 0 * F.dropout(torch.ones(4, device="cuda"), 0.5).sum()
        loss.backward()
        adam.step()
        return loss

    eager = [step().item() for _ in range(2)]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    losses = []
    for _ in range(4):
        before = len(fake.log)
        graph.replay()
        told = [name for name in fake.log[before:] if not name.startswith(("cuEvent", "cuMemcpyHtoD"))]
        assert told == ["cuGraphLaunch"]
        losses.append(loss.item())
    assert [*eager, *losses] == sorted([*eager, *losses], reverse=True) and losses[-1] < eager[0] - 0.1


def test_orders_and_slices() -> None:
    x = torch.tensor([[3.0, 1.0, float("nan"), 1.0, -2.0], [0.0, -0.0, 5.0, 5.0, 4.0]])
    g = x.cuda()
    for dim in (0, 1):
        for descending in (False, True):
            want, found = x.sort(dim, descending, stable=True), g.sort(dim, descending, stable=True)
            assert torch.equal(found.indices.cpu(), want.indices)
            torch.testing.assert_close(found.values.cpu(), want.values, equal_nan=True)
    assert torch.equal(g[1].topk(3).values.cpu(), x[1].topk(3).values)
    assert torch.equal(g.argsort(1).cpu(), x.argsort(1))
    w = torch.randn(40, 3)
    i = torch.tensor([4, 0, 4])
    given, once = torch.randn(3, 3), torch.tensor([4, 0, 7])
    torch.testing.assert_close(w.cuda().index_add(0, i.cuda(), given.cuda()).cpu(), w.index_add(0, i, given))
    assert torch.equal(w.cuda().index_copy(0, once.cuda(), given.cuda()).cpu(), w.index_copy(0, once, given))
    assert torch.equal(w.cuda().index_fill(1, i[1:2].cuda(), 7.0).cpu(), w.index_fill(1, i[1:2], 7.0))
    assert torch.equal(w.cuda().roll((1, -2), (0, 1)).cpu(), w.roll((1, -2), (0, 1)))
    assert torch.equal(w.cuda().roll(5).cpu(), w.roll(5))


def test_an_optimizers_step_is_few_launches(fake: FakeDriver) -> None:
    torch.manual_seed(0)
    here = [torch.randn(n, requires_grad=True) for n in (5, 5000, 1, 300, 7)]
    there = [p.detach().cuda().requires_grad_() for p in here]
    steps = [torch.optim.AdamW(ps, 0.1, weight_decay=0.1) for ps in (here, there)]
    for _ in range(3):
        for p, q in zip(here, there, strict=True):
            p.grad = torch.randn(p.shape)
            q.grad = p.grad.cuda()
        before = fake.calls["cuLaunchKernel"]
        steps[1].step()
        launches = fake.calls["cuLaunchKernel"] - before
        steps[0].step()
    assert launches == 1
    for p, q in zip(here, there, strict=True):
        torch.testing.assert_close(q.detach().cpu(), p.detach())


def test_another_librarys_stream(fake: FakeDriver) -> None:
    own = torch.cuda.Stream()
    with torch.cuda.stream(torch.cuda.ExternalStream(own.cuda_stream)) as _:
        assert torch.cuda.current_stream().cuda_stream == own.cuda_stream
        assert torch.ones(3, device="cuda").exp().sum().item() > 8


# Calls that are made often: the fifth is a generated function (devices/cuda/driver/quick.py).
OFTEN: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "a number": lambda x, y: x * 2.5 - 1,
    "gelu": lambda x, y: F.gelu(x),
    "in place": lambda x, y: x.clone().add_(y).mul_(0.5),
    "matmul": lambda x, y: x @ y.t(),
    "linear": lambda x, y: F.linear(x, y, y[:, 0].clone()),
    "sum": lambda x, y: x.sum(1) + y.mean(),
    "softmax": lambda x, y: x.softmax(1),
    "layer_norm": lambda x, y: F.layer_norm(x, (6,), y[0].clone(), y[1].clone()),
    "embedding": lambda x, y: F.embedding(torch.arange(3, device=x.device), x),
    "cat": lambda x, y: torch.cat((x, y), 1),
    "views": lambda x, y: x.view(2, 15).t()[1:].unsqueeze(0) + y.transpose(0, 1).reshape(1, 30)[:, :2],
    "made": lambda x, y: torch.full((3,), 2.0, device=x.device) + torch.zeros_like(x[0, :3]),
}


@pytest.mark.parametrize("name", OFTEN)
def test_the_fifth_call_gives_what_the_first_gave(name: str) -> None:
    function = OFTEN[name]
    for _ in range(5):
        x, y = torch.randn(5, 6), torch.randn(5, 6)
        a, b = x.cuda(), y.cuda()
        torch.testing.assert_close(function(a, b).cpu(), function(x, y), rtol=1e-5, atol=1e-5)
    a, b = x.cuda(), y.cuda()
    torch.testing.assert_close(function(a, a).cpu(), function(x, x), rtol=1e-5, atol=1e-5)  # one memory
    wide = torch.zeros(31, device="cuda")
    wide[1:] = a.flatten()
    odd = wide[1:].view(5, 6)  # at an address that is a multiple of 4 alone
    torch.testing.assert_close(function(odd, b).cpu(), function(x, y), rtol=1e-5, atol=1e-5)


def test_calls_that_are_known_still_look_at_the_device(fake: FakeDriver) -> None:
    x = torch.randn(4, 4)
    a, b = x.cuda(), x.to("cuda:1")
    for _ in range(5):
        assert (a + a).device.index == 0 and (b + b).device.index == 1 and a.view(16).is_cuda
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cuda:1"):
        a + b
    with torch.cuda.device(1):
        assert torch.empty(3, device="cuda").device.index == 1
    assert torch.empty(3, device="cuda").device.index == 0
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.testing.assert_close((a + a).cpu(), x + x)
    fake.planted["cuLaunchKernel"] = [700]
    with pytest.raises(torch.AcceleratorError, match="illegal memory access"):
        a + a
    with pytest.raises(torch.AcceleratorError, match="context of cuda:0 is lost"):
        a + a


def test_options_that_change_a_kind_of_call() -> None:
    x = torch.randn(3, 3, device="cuda")
    for allowed in (False, True, False):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        for _ in range(5):
            assert (x @ x.clone()).dtype is torch.float32
    counts = torch.ones(3, dtype=torch.int64, device="cuda")
    for of in (torch.float32, torch.float64, torch.float32):
        torch.set_default_dtype(of)
        for _ in range(5):
            assert (counts / 2).dtype is of and torch.zeros(2, device="cuda").dtype is of
    torch.set_default_dtype(torch.float32)


@pytest.mark.devices("driver")
def test_relief_leaves_the_context_that_was_there(fake: FakeDriver) -> None:
    first, second = platform().device(0), platform().device(1)
    for k in range(2):
        torch.zeros(9, device=f"cuda:{k}")  # whose segment is given back
    first.enter()
    fake.planted["cuEventCreate"] = [2]
    first.stream.mark()
    assert fake.context == first.context != second.context
