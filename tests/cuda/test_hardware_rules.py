"""Rules of the driver and of NVIDIA's libraries that only hardware would enforce, over a strict imitation."""

from __future__ import annotations

import ctypes
import gc
import json
import re
import shutil
import subprocess
import threading
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.core.accelerator import platform
from rushlight._engine.devices.cuda.driver import blas, library, modules, nvidia_libraries, real
from rushlight._engine.devices.cuda.kernels import ptx
from rushlight._engine.kernels.emit.target import Unsupported
from tests.cuda.fake_driver import FakeDriver
from tools import cuda_rows

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.devices("driver")
F = torch.nn.functional


# --- contexts -------------------------------------------------------------------------------------


def test_devices_are_handles_and_not_their_numbers() -> None:
    assert torch.cuda.get_device_name(1) == "Fake H100"
    assert torch.cuda.get_device_properties(1).major == 9
    assert torch.ones(2, device="cuda:1").sum().item() == 2


def test_every_thread_has_its_context() -> None:
    x = torch.ones(3, device="cuda", requires_grad=True)
    found: list[Any] = []

    def work() -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        (x * 2).sum().backward()
        end = torch.cuda.Event(enable_timing=True)
        end.record()
        torch.cuda.synchronize()
        found.append((event.elapsed_time(end) >= 0, torch.ones(4).pin_memory().cuda().sum().item()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(True, 4.0)] and x.grad is not None and x.grad.tolist() == [2, 2, 2]


def test_what_is_freed_elsewhere_leaves_the_context_as_it_was(fake: FakeDriver) -> None:
    """Memory, events and page-locked memory of another device die in the middle of a device's work."""
    other = torch.ones(1 << 12, device="cuda:1")
    with torch.cuda.device(1):
        side = torch.cuda.Stream()
        other.record_stream(side)
        event = torch.cuda.Event()
        event.record()
        locked = torch.ones(64).pin_memory()
    here: Any = platform().device(0)
    here.enter()
    context = fake.context
    del other, event, locked
    gc.collect()
    assert fake.context == context and torch.ones(3, device="cuda:0").tolist() == [1, 1, 1]


def test_handles_die_in_a_thread_without_a_context(fake: FakeDriver) -> None:
    event, locked = torch.cuda.Event(), torch.ones(64).pin_memory()
    event.record()
    before, held = fake.kinds(), [event, locked]
    del event, locked
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert fake.kinds()["event"] == before["event"] - 1
    torch.accelerator.memory.empty_host_cache()
    assert fake.kinds()["host memory"] == before["host memory"] - 1


def test_streams_are_handed_out_in_turn(fake: FakeDriver) -> None:
    streams = [torch.cuda.Stream() for _ in range(40)]
    assert len({s.cuda_stream for s in streams}) == 32 and streams[32] == streams[0]
    assert torch.cuda.Stream(priority=-1) not in streams and fake.kinds()["stream"] == 33


# --- memory ---------------------------------------------------------------------------------------


def test_the_driver_itself_is_out_of_memory(fake: FakeDriver) -> None:
    """What is cached goes back to it once; then it is PyTorch's error."""
    x = torch.ones(4, device="cuda")
    large = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")
    del large
    fake.planted["cuModuleLoadData"] = [2]
    assert x.sinh().sum().isfinite() and torch.cuda.memory_reserved() == 2 << 20
    fake.planted["cuModuleLoadData"] = [2, 2]
    with pytest.raises(torch.OutOfMemoryError, match="CUDA error: out of memory.*cuModuleLoadData"):
        x.cosh()
    assert x.cosh().sum().isfinite()


def test_page_locked_memory_outlives_the_copy_into_it() -> None:
    device: Any = platform().device(0)
    x = torch.arange(4.0, device="cuda")
    host = torch.empty(4).pin_memory()
    host.copy_(x, non_blocking=True)
    assert any(held is host._array for _, held in device._flying)


def test_memory_begins_as_nonsense() -> None:
    assert torch.empty(4, device="cuda").isnan().all()


# --- captures -------------------------------------------------------------------------------------


def test_a_constant_that_is_first_met_in_a_capture_is_the_graphs_own() -> None:
    """It is on the device when the graph has run, so eager calls bring it themselves."""
    here, graph = torch.randn(3, 7), torch.cuda.CUDAGraph()
    x, want = here.cuda(), torch.fft.rfft(here)
    with torch.cuda.graph(graph):
        captured = torch.fft.rfft(x)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.fft.rfft(x)  # nor is it another graph's
    torch.testing.assert_close(torch.fft.rfft(x).cpu(), want)
    graph.replay()
    torch.testing.assert_close(captured.cpu(), want)


def test_memory_that_streams_of_a_graph_shared_comes_back() -> None:
    """An event of a capture may never be asked, also when the capture has ended."""
    x, graph = torch.ones(1 << 12, device="cuda"), torch.cuda.CUDAGraph()
    (x * 2 + 1).sum()
    with torch.cuda.graph(graph):
        side = torch.cuda.Stream()
        part = x * 2
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            found = (part + 1).sum()
        part.record_stream(side)
        torch.cuda.current_stream().wait_stream(side)
        del part
    assert torch.cuda.memory_allocated() > 0
    graph.replay()
    assert found.item() == 3 << 12


def test_a_copy_that_is_refused_does_not_reach_the_driver(fake: FakeDriver) -> None:
    x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with pytest.raises(torch.AcceleratorError, match="not permitted when stream is capturing"):
        with torch.cuda.graph(graph):
            before = fake.calls["cuMemcpyHtoDAsync_v2"]
            try:
                x.copy_(torch.ones(4))
            finally:
                assert fake.calls["cuMemcpyHtoDAsync_v2"] == before


def test_a_graph_reads_page_locked_memory_at_each_replay() -> None:
    x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
    host = torch.ones(4).pin_memory()
    with torch.cuda.graph(graph):
        x.copy_(host, non_blocking=True)
        y = x + 1
    host.fill_(5)
    graph.replay()
    assert y.tolist() == [6, 6, 6, 6]


def test_products_of_a_graph_have_a_workspace_of_their_own() -> None:
    device: Any = platform().device(0)
    x, graph = torch.ones(4, 4, device="cuda"), torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x @ x
    (own,) = [device.blas._workspaces[s] for s in device.blas._workspaces if s is side._queue]
    seen: list[int] = []
    products = device.blas.library
    before = products.cublasLtMatmul
    products.cublasLtMatmul = lambda *args: (seen.append(args[13]), before(*args))[1]
    with torch.cuda.graph(graph, stream=side):
        y = x @ x
    graph.replay()
    assert y.tolist() == [[4.0] * 4] * 4 and seen and own.address not in seen


def test_libraries_may_begin_in_a_capture() -> None:
    """Their handles take memory, which is no part of the graph."""
    x, graph = torch.eye(3, device="cuda") * 2, torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x @ x
    graph.replay()
    assert y.tolist() == (torch.eye(3) * 4).tolist()


def test_a_thread_may_pin_memory_while_another_captures() -> None:
    """As a DataLoader's does; and a device may be first used."""
    x, graph, made = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph(), list[Any]()
    (x + 1).sum()

    def pin() -> None:
        made.append(torch.arange(4.0).pin_memory())
        made.append(torch.empty(3, device="cuda:1"))

    with torch.cuda.graph(graph):
        thread = threading.Thread(target=pin)
        thread.start()
        thread.join()
        y = (x + 1).sum()
    graph.replay()
    assert y.item() == 8 and made[0].tolist() == [0, 1, 2, 3] and made[1].isnan().all()


@pytest.mark.parametrize("late", [False, True])
def test_a_spoilt_capture_leaves_nothing(fake: FakeDriver, monkeypatch: Any, late: bool) -> None:
    """Whether its work is refused, or fails when it is queued at the end."""

    def failing() -> None:
        raise ValueError("no kernel")

    x, stream, graph = torch.ones(3, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    x + 1
    with torch.cuda.stream(stream), monkeypatch.context() as patch:
        graph.capture_begin()
        if late:
            patch.setattr(platform().device(0), "flush", failing)
        else:
            with pytest.raises(torch.AcceleratorError, match="capturing"):
                x.sum().item()
        with pytest.raises(ValueError if late else torch.AcceleratorError):
            graph.capture_end()
    with torch.cuda.stream(stream):
        assert (x + 1).tolist() == [2, 2, 2]
    assert fake.kinds()["executable graph"] == fake.kinds()["graph"] == 0


def test_a_forked_child_leaves_its_parents_graphs(fake: FakeDriver, monkeypatch: Any) -> None:
    x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    x + 1
    with torch.cuda.graph(graph):
        x + 1
    with monkeypatch.context() as patch:
        patch.setattr(platform(), "forked", True)
        graph.reset()
    assert not fake.calls["cuGraphExecDestroy"]


# --- cuBLASLt ---------------------------------------------------------------------------------------


def test_complex_layers_have_a_bias() -> None:
    """cuBLASLt has no epilogues for complex numbers."""
    x, w, b = (torch.randn(n, dtype=torch.complex64) for n in ((5, 4), (3, 4), (3,)))
    torch.testing.assert_close(F.linear(x.cuda(), w.cuda(), b.cuda()).cpu(), F.linear(x, w, b))


def test_a_product_without_an_algorithm_is_done_otherwise() -> None:
    device: Any = platform().device(0)
    x, w, b = torch.randn(5, 4), torch.randn(3, 4), torch.randn(3)
    products = device.blas.library
    products.refuses = lambda how, least: how.get(7) == 4  # no epilogue
    torch.testing.assert_close(F.linear(x.cuda(), w.cuda(), b.cuda()).cpu(), F.linear(x, w, b))
    products.refuses = lambda how, least: least < 16
    y = torch.randn(21)
    shifted = y.cuda()[1:].view(5, 4)
    torch.testing.assert_close((shifted @ w.cuda().t()).cpu(), y[1:].view(5, 4) @ w.t())
    products.refuses = lambda how, least: True  # then by the device's own kernels
    torch.testing.assert_close((x.cuda() @ w.cuda().t()).cpu(), x @ w.t())


def test_operands_are_as_aligned_as_the_search_was_told() -> None:
    """The imitation refuses addresses that are less aligned."""
    for of in (torch.float32, torch.bfloat16, torch.float64):
        flat = torch.randn(40).to(of)
        for begin in (0, 1, 2, 3, 4, 8):
            a, b = flat[begin : begin + 12].view(3, 4), flat[begin : begin + 20].view(4, 5)
            there = flat.cuda()
            c, d = there[begin : begin + 12].view(3, 4), there[begin : begin + 20].view(4, 5)
            for _ in range(3):  # the third is a generated function
                torch.testing.assert_close((c @ d).cpu(), a @ b)


def test_libraries_fit_the_driver() -> None:
    fitting = nvidia_libraries.fitting
    assert fitting(("13", "12"), 12040) == ("12",) and fitting(("13", "12"), 13010) == ("13", "12")
    assert fitting(("12", "11"), 14000) == ("12", "11") and fitting(("12",), 12000) == ("12",)
    assert not any(place.endswith(".so.13") for place in blas._places(12080))


# --- kernels --------------------------------------------------------------------------------------


def test_kernels_are_for_cards_that_llvm_knows(monkeypatch: Any) -> None:
    assert [modules.architecture(c) for c in ((7, 5), (9, 0), (12, 1))] == ["sm_75", "sm_90", "sm_120"]
    monkeypatch.setattr(ptx, "known", lambda architecture: architecture in ("sm_75", "sm_90", "sm_100"))
    assert modules.architecture((10, 3)) == "sm_100" and modules.architecture((12, 0)) == "sm_100"


def test_ptx_is_no_newer_than_the_oldest_driver_takes() -> None:
    """CUDA 12.0's driver reads PTX up to 8.0; newer cards need newer drivers anyway."""
    (meaning,) = cuda_rows.meanings(cuda_rows.ROWS["add"])
    for architecture in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90"):
        version = re.search(r"\.version (\d+)\.(\d+)", ptx.ptx(cuda_rows.text_of(meaning), architecture))
        assert version is not None and (int(version[1]), int(version[2])) <= (8, 0)


def test_older_cards_have_no_such_tensor_cores() -> None:
    """LLVM would end the process."""
    text = dict(cuda_rows.kernels())["attention forward, bfloat16 of 64"]
    with pytest.raises(Unsupported, match="tensor cores"):
        ptx.ptx(text, "sm_75")


def test_kernels_fit_a_multiprocessor() -> None:
    """Registers and static memory of a block of the most threads that are launched are there on every card."""
    record = json.loads(cuda_rows.REGISTERS.read_text(encoding="utf-8"))
    for architecture in cuda_rows.ARCHITECTURES:
        for name, (registers, _, shared) in record[architecture].items():
            assert registers * real.THREADS <= 1 << 16 and shared <= 48 << 10, name


def test_a_real_library_takes_the_arguments(tmp_path: Any) -> None:
    """The functions' signatures through ctypes, in a library of C where there is a compiler."""
    if shutil.which("cc") is None:
        pytest.skip("no compiler")
    source = tmp_path / "cuda.c"
    lines = ["#include <stdint.h>"]
    lines += [f"int {n}() {{ return 0; }}" for n in sorted(library.FUNCTIONS)]
    source.write_text("\n".join(lines), encoding="utf-8")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-w", "-o", str(tmp_path / "libcuda.so"), str(source)], check=True
    )
    loaded = ctypes.CDLL(str(tmp_path / "libcuda.so"))
    for name, types in library.FUNCTIONS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = types, ctypes.c_int
        assert function(*[0 if t is not ctypes.c_char_p else b"" for t in types]) == 0


def test_a_switch_of_rounding_is_heard_by_calls_that_are_prepared() -> None:
    """Also by set_float32_matmul_precision(), as PyTorch links them."""
    device: Any = platform().device(0)
    products, matmul = device.blas.library, torch.backends.cuda.matmul
    x, seen, before = torch.ones(4, 4, device="cuda"), list[int](), products.cublasLtMatmul
    products.cublasLtMatmul = lambda *a: (seen.append(products.things[a[1]]["compute"]), before(*a))[1]

    def computed() -> set[int]:
        seen.clear()
        for _ in range(4):
            x @ x
        return set(seen)

    was = matmul.fp32_precision
    try:
        assert computed() == {68}  # CUBLAS_COMPUTE_32F
        matmul.allow_tf32 = True
        assert computed() == {77} and torch.get_float32_matmul_precision() == "high"
        torch.set_float32_matmul_precision("highest")
        assert computed() == {68} and matmul.fp32_precision == "ieee" and not matmul.allow_tf32
        torch.set_float32_matmul_precision("medium")
        assert computed() == {77} and torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
        matmul.fp32_precision = was
