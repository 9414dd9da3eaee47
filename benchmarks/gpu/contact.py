"""The first touch of a GPU, call by call: what there is, and whether the driver and NVIDIA's libraries do
what the device takes for granted. Each step is small, and its error names the call, its arguments and its
answer.
"""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

# PTX by hand, with the parameters of the pointwise kernel of a sum: two operands, the result, how many.
SUM = """.version 7.0
.target sm_75
.address_size 64
.visible .entry contact_sum(.param .u64 x, .param .u64 y, .param .u64 out, .param .u64 n)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %a<5>;
    .reg .f32 %f<3>;
    ld.param.u64 %a0, [x];
    ld.param.u64 %a1, [y];
    ld.param.u64 %a2, [out];
    ld.param.u64 %a3, [n];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2;
    cvt.u64.u32 %a4, %r3;
    setp.ge.u64 %p, %a4, %a3;
    @%p bra done;
    shl.b64 %a4, %a4, 2;
    add.u64 %a0, %a0, %a4;
    add.u64 %a1, %a1, %a4;
    add.u64 %a2, %a2, %a4;
    ld.global.f32 %f0, [%a0];
    ld.global.f32 %f1, [%a1];
    add.rn.f32 %f2, %f0, %f1;
    st.global.f32 [%a2], %f2;
done:
    ret;
}
"""
COUNT = 1000


def contact(b: Any) -> None:
    """All steps; what a step needs of one that failed is what its own error says."""
    for name, step in (*_surroundings(), *Contact(b).steps()):
        b.attempt(name, "", step)


def _surroundings() -> list[tuple[str, Callable[[], Any]]]:
    def packages() -> str:
        names = (
            "numpy",
            "llvmlite",
            "ml_dtypes",
            "torch",
            "nvidia-cublas",
            "nvidia-cudnn-cu13",
            "nvidia-cudnn-cu12",
        )
        return ", ".join([f"{name} {_version(name)}" for name in names])

    def variables() -> str:
        names = [n for n in os.environ if n.startswith(("CUDA", "NVIDIA", "LD_", "RUSHLIGHT"))]
        return " ".join([f"{n}={os.environ[n]}" for n in sorted(names)])[:500]

    return [
        ("python", lambda: f"{sys.executable} {platform.python_version()} on {platform.platform()}"),
        ("processors", lambda: str(os.cpu_count())),
        ("packages", packages),
        ("variables", variables),
        ("nvidia-smi", _smi),
        ("LLVM", _llvm),
    ]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "-"


def _smi() -> str:
    asked = [
        "nvidia-smi",
        "--query-gpu=name,driver_version,memory.total,memory.used",
        "--format=csv,noheader",
    ]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"not to be had: {error}"
    return (done.stdout + done.stderr).strip()[:300]


def _llvm() -> str:
    import llvmlite.binding as llvm

    return ".".join(map(str, llvm.llvm_version_info))


def _loaded(stem: str) -> str:
    """Which file of a library this process has open."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as lines:
            paths = {line.split()[-1] for line in lines if f"/lib{stem}.so" in line}
    except OSError:
        return "?"
    return ", ".join(sorted(paths)) or "no file"


class Contact:
    """The steps, and what they share, made when a step first asks: a driver, a context, a stream, and three
    arrays on the device, of which the first two are filled.
    """

    def __init__(self, b: Any) -> None:
        self.b = b
        rng = np.random.default_rng(0)
        self.here = [rng.standard_normal(COUNT).astype(np.float32) for _ in range(2)]

    @cached_property
    def driver(self) -> Any:
        """The driver, initialised."""
        from rushlight._engine.devices.cuda.driver import library

        return library.driver()

    @cached_property
    def entered(self) -> int:
        """The primary context, which is this thread's."""
        context = int(self.driver.handle("cuDevicePrimaryCtxRetain", self.driver.device(0)))
        self.driver("cuCtxSetCurrent", context)
        return context

    @cached_property
    def arrays(self) -> list[int]:
        """Addresses on the device."""
        found = []
        for _ in range(3 * bool(self.entered)):
            made = ctypes.c_uint64()
            self.driver("cuMemAlloc_v2", ctypes.byref(made), 4 * COUNT)
            found.append(made.value)
        for array, values in zip(found, self.here, strict=False):
            self.driver("cuMemcpyHtoDAsync_v2", array, values.ctypes.data, 4 * COUNT, 0)
        self.driver("cuCtxSynchronize")  # the stream of the next steps does not wait for the default one
        return found

    @cached_property
    def stream(self) -> int:
        """A stream that does not wait for the default one."""
        return int(self.driver.handle("cuStreamCreateWithPriority", 1, 0)) if self.entered else 0

    @cached_property
    def modules(self) -> Any:
        """The kernels that are loaded."""
        from rushlight._engine.devices.cuda.driver.modules import Modules

        capability = self.driver.attribute(0, "major"), self.driver.attribute(0, "minor")
        return Modules(self.driver, capability) if self.entered else None

    def steps(self) -> list[tuple[str, Callable[[], Any]]]:
        """(name, what it does)."""
        return [
            ("driver", self.began),
            ("devices", self.devices),
            ("attributes", self.attributes),
            ("functions", self.functions),
            ("context", self.context),
            ("memory", self.memory),
            ("page-locked memory", self.page_locked),
            ("streams and events", self.streams),
            ("PTX by hand, assembled", self.by_hand),
            ("PTX by LLVM, assembled", self.by_llvm),
            ("a launch by machine code", self.natively),
            ("a kernel that writes page-locked memory", self.to_the_host),
            ("a graph", self.graph),
            ("the device", self.device),
            ("cuBLAS", self.products),
            ("cuDNN", self.convolutions),
            ("cuSOLVER", self.solver),
            ("NCCL, one rank", self.collectives),
            ("NCCL, two ranks", self.two_ranks),
        ]

    # --- the driver ---------------------------------------------------------------------------------

    def began(self) -> str:
        """cuInit, and its version."""
        return f"{self.driver.version} of {_loaded('cuda')}"

    def devices(self) -> str:
        """Names and memory."""
        d = self.driver
        return ", ".join([f"{d.name(i)} with {d.memory(i) >> 20} MiB, {d.uuid(i)}" for i in range(d.count())])

    def attributes(self) -> str:
        """All that are asked for."""
        from rushlight._engine.devices.cuda.driver.library import ATTRIBUTES

        return ", ".join([f"{name} {self.driver.attribute(0, name)}" for name in ATTRIBUTES])

    def functions(self) -> str:
        """That the driver has every function."""
        from rushlight._engine.devices.cuda.driver.library import FUNCTIONS

        names = [name for name in FUNCTIONS if not self.b.fake or hasattr(self.driver.library, name)]
        for name in names:
            self.driver.raw(name)
        return f"{len(names)} of {len(FUNCTIONS)}"

    def context(self) -> str:
        """The primary context, and free memory."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        if not self.entered:
            raise AssertionError("the context is null")
        self.driver("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return f"{free.value >> 20} MiB of {total.value >> 20} are free"

    def memory(self) -> str:
        """Allocate, fill, copy there, across and back."""
        _, y, out = self.arrays
        self.driver("cuMemsetD8Async", out, 0x7F, 4 * COUNT, 0)
        self._expect(self._read(out).view(np.uint8), np.full(4 * COUNT, 0x7F, np.uint8), "what was filled in")
        self.driver("cuMemcpyDtoDAsync_v2", out, y, 4 * COUNT, 0)
        self._expect(self._read(out), self.here[1], "a copy of a copy")
        return " ".join(map(hex, self.arrays))

    def _read(self, array: int) -> Any:
        found = np.empty(COUNT, np.float32)
        self.driver("cuMemcpyDtoHAsync_v2", found.ctypes.data, array, 4 * COUNT, 0)
        self.driver("cuCtxSynchronize")
        return found

    def _expect(self, found: Any, want: Any, what: str) -> None:
        if not np.array_equal(found, want):
            wrong = np.flatnonzero(found != want)
            raise AssertionError(f"{what}: {wrong.size} of {want.size} are wrong, first {wrong[:3]}: {found[wrong[:3]]}, not {want[wrong[:3]]}")  # fmt: skip  # noqa: E501

    def page_locked(self) -> str:
        """Copies by a stream to memory that the host has locked."""
        array = self.arrays[0]
        address = self.driver.handle("cuMemHostAlloc", 4 * COUNT, 1)
        there = _at(address)
        self.driver("cuMemcpyDtoHAsync_v2", address, array, 4 * COUNT, 0)
        self.driver("cuStreamSynchronize", 0)
        self._expect(there.copy(), self.here[0], "what came into page-locked memory")
        self.driver("cuMemFreeHost", address)
        return hex(address)

    def streams(self) -> str:
        """A stream of its own, two events and the time between them."""
        stream = self.stream
        start, end = (self.driver.handle("cuEventCreate", 0) for _ in range(2))
        self.driver("cuEventRecord", start, stream)
        self.driver("cuMemsetD8Async", self.arrays[2], 0, 4 * COUNT, stream)
        self.driver("cuEventRecord", end, stream)
        self.driver("cuStreamWaitEvent", 0, end, 0)
        self.driver("cuEventSynchronize", end)
        spent = ctypes.c_float()
        self.driver("cuEventElapsedTime", ctypes.byref(spent), start, end)
        if not (self.driver.ready("cuEventQuery", end) and 0 <= spent.value < 1000):
            raise AssertionError(f"{spent.value} ms passed between two events")
        return f"{spent.value * 1000:.1f} us"

    # --- kernels ------------------------------------------------------------------------------------

    def _source(self) -> Any:
        """The pointwise kernel of a sum, an element at a time."""
        from rushlight._engine.devices.cuda.kernels import writing
        from rushlight._engine.devices.cuda.kernels.sources import Source
        from rushlight._engine.kernels.emit.meaning import Meaning
        from rushlight._engine.ops.expressions import m, symbol

        root = m.add(symbol("x"), symbol("y"))
        meaning = Meaning((root,), (("x", "float32"), ("y", "float32")), ("float32",), "float32")
        return Source(_written, (writing.pointwise, meaning), 3, 1)

    def _summed(self, launch: Callable[[list[int]], Any]) -> None:
        """Launch a kernel of the sum, and look at its result."""
        self.driver("cuMemsetD8Async", self.arrays[2], 0xFF, 4 * COUNT, self.stream)
        launch([*self.arrays, COUNT])
        self.driver("cuStreamSynchronize", self.stream)
        self._expect(self._read(self.arrays[2]), self.here[0] + self.here[1], "a sum")

    def by_hand(self) -> str:
        """Twenty lines that no compiler wrote: the driver's assembler, modules, launches by ctypes."""
        from rushlight._engine.devices.cuda.driver import modules

        modules.ENTRIES["contact_sum"] = self._source()
        code = self.modules.assembled(SUM)
        module = self.driver.handle("cuModuleLoadData", code)
        handle = self.driver.handle("cuModuleGetFunction", module, b"contact_sum")
        function = modules.Function(self.driver, handle, 4, None, "contact_sum")
        self._summed(lambda given: function.launch((-(-COUNT // 128), 128), self.stream, given))
        return f"{self.modules.architecture}, {len(code)} bytes"

    def by_llvm(self) -> str:
        """A kernel as the device's are written."""
        from rushlight._engine.devices.cuda.driver.modules import Function

        made = self.modules.function(self._source())
        plain = Function(self.driver, made.handle, made.count, None, made.name)
        self._summed(lambda given: plain.launch((4, 128), self.stream, given))
        return str(made.name)

    def natively(self) -> str:
        """The same by the launcher that calls of rows have."""
        made = self.modules.function(self._source())
        if made.native is None and not self.b.fake:
            raise AssertionError("there is no launcher")
        self._summed(lambda given: made.launch((2, 64), self.stream, given))
        return "good" if made.native is not None else "by ctypes"

    def to_the_host(self) -> str:
        """The address of page-locked memory is the device's, too: where wrong indices are noted."""
        made = self.modules.function(self._source())
        address = self.driver.handle("cuMemHostAlloc", 4 * COUNT, 1)
        made.launch((4, 128), self.stream, [*self.arrays[:2], address, COUNT])
        self.driver("cuStreamSynchronize", self.stream)
        there = _at(address)
        self._expect(there.copy(), self.here[0] + self.here[1], "a sum in page-locked memory")
        self.driver("cuMemFreeHost", address)
        return "good"

    def graph(self) -> str:
        """A launch that is captured, and replayed."""
        made = self.modules.function(self._source())
        self.driver("cuMemsetD8Async", self.arrays[2], 0xFF, 4 * COUNT, self.stream)
        self.driver("cuStreamSynchronize", self.stream)
        self.driver("cuStreamBeginCapture_v2", self.stream, 0)
        made.launch((4, 128), self.stream, [*self.arrays, COUNT])
        graph, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.driver("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.driver("cuGraphGetNodes", graph.value, None, ctypes.byref(size))
        ready = self.driver.handle("cuGraphInstantiateWithFlags", graph.value, 0)
        self.driver("cuGraphDestroy", graph.value)
        self.driver("cuGraphLaunch", ready, self.stream)
        self.driver("cuStreamSynchronize", self.stream)
        self._expect(self._read(self.arrays[2]), self.here[0] + self.here[1], "a sum by a graph")
        self.driver("cuGraphExecDestroy", ready)
        return f"{size.value} node"

    # --- the framework's device and NVIDIA's libraries ------------------------------------------------

    def _backend(self) -> Any:
        from rushlight._engine.core.accelerator import platform as devices

        there: Any = devices()
        return there.device(0)

    def device(self) -> str:
        """An array made, added to and read."""
        found = self.b.torch.ones(5, device="cuda").add_(2).tolist()
        self._expect(np.array(found), np.full(5, 3.0), "ones and two")
        return str(self._backend().card)

    def products(self) -> str:
        """A product, and where its library is from."""
        torch = self.b.torch
        x, y = torch.randn(33, 20), torch.randn(20, 17)
        found = (x.cuda() @ y.cuda()).cpu()
        torch.testing.assert_close(found, x @ y, rtol=1e-4, atol=1e-4)
        own = self._backend().blas
        if own.library is None:
            return f"by the device's own kernels: {own.why}"
        return f"{_asked(own.library, 'cublasLtGetVersion')} of {_loaded('cublasLt')}"

    def convolutions(self) -> str:
        """A convolution, and whether cuDNN did it."""
        torch = self.b.torch
        torch.backends.cudnn.allow_tf32 = False
        x, w = torch.randn(2, 8, 17, 15), torch.randn(12, 8, 3, 3)
        found = torch.nn.functional.conv2d(x.cuda(), w.cuda()).cpu()
        torch.testing.assert_close(found, torch.nn.functional.conv2d(x, w), rtol=1e-3, atol=1e-3)
        try:
            own = self._backend().dnn
        except Exception as error:
            return f"by windows and products: {error}"
        plans = [getattr(plan, "algorithm", plan) for plan in own.plans.values()]
        return f"algorithms {plans}, {_asked(own.library, 'cudnnGetVersion')} of {_loaded('cudnn')}"

    def solver(self) -> str:
        """A factorisation, and where its library is from."""
        torch = self.b.torch
        x = torch.eye(5) * 3 + 0.1
        found = torch.linalg.cholesky(x.cuda()).cpu()
        torch.testing.assert_close(found, torch.linalg.cholesky(x), rtol=1e-5, atol=1e-5)
        return f"good, {_loaded('cusolver')}"

    def collectives(self) -> str:
        """Every collective of NCCL in a group of one."""
        from benchmarks.gpu import ranks
        from rushlight._engine.devices.cuda.driver import nccl

        if not nccl.installed():
            return "not installed"
        found = ranks.alone()
        if " right among " not in found:
            raise AssertionError(found)
        return f"{found}, NCCL {nccl.text_of(nccl.version())} of {_loaded('nccl')}"

    def two_ranks(self) -> str:
        """The same among two processes, each with a device of its own, where there are two."""
        from benchmarks.gpu import ranks
        from rushlight._engine.devices.cuda.driver import nccl

        if self.driver.count() < 2 or not nccl.installed():
            return f"not tried: {self.driver.count()} device"
        found = ranks.among(2)
        if " right among " not in found:
            raise AssertionError(found)
        return found


def _written(write: Callable[..., tuple[str, int]], meaning: Any, target: str) -> tuple[str, int]:
    """A kernel's text for a target."""
    return write(meaning, target=target)


def _at(address: int) -> Any:
    """COUNT floats of the host's."""
    return np.ctypeslib.as_array((ctypes.c_float * COUNT).from_address(address))


def _asked(library: Any, name: str) -> str:
    """What a library says of its version."""
    if not isinstance(library, ctypes.CDLL):
        return "an imitation"
    function = getattr(library, name)
    function.restype = ctypes.c_size_t
    return str(function())
