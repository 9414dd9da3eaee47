"""The sections of benchmarks.gpu, written on PyTorch's names for either library."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def machine(b: Any) -> None:
    """What there is, and how long it takes to begin."""
    torch = b.torch
    b.line("import", b.import_seconds, "s")
    began = time.perf_counter()
    torch.zeros(1, device="cuda").add_(1).item()
    b.line("first op", time.perf_counter() - began, "s")
    properties = torch.cuda.get_device_properties(0)
    b.line("name", torch.cuda.get_device_name(0))
    b.line("capability", str(torch.cuda.get_device_capability(0)))
    b.line("memory", properties.total_memory / 2**30, "GiB")
    b.line("multiprocessors", properties.multi_processor_count)
    if b.library == "rushlight":
        from rushlight._engine.devices.cuda.driver.library import driver

        b.line("driver", driver().version)
    began = time.perf_counter()
    x = torch.randn(64, 64, device="cuda")
    for f in (torch.sinh, torch.tanh, torch.exp, lambda t: t.softmax(1), lambda t: t.sum(0), lambda t: t @ t):
        b.attempt(f"kernel of {getattr(f, '__name__', 'f')}", "", lambda f=f: float(f(x).sum().isfinite()))
    b.line("seven new kernels", time.perf_counter() - began, "s")


def copies(b: Any) -> None:
    """Between host and device."""
    torch, n = b.torch, b.size(1 << 28, 1 << 12)
    host = torch.empty(n, dtype=torch.uint8)
    device = torch.empty(n, dtype=torch.uint8, device="cuda")
    b.attempt("to the device, pageable", "GB/s", lambda: n / b.seconds(lambda: device.copy_(host), 3) / 1e9)
    b.attempt("to the host, pageable", "GB/s", lambda: n / b.seconds(lambda: host.copy_(device), 3) / 1e9)

    def pinned(to_device: bool) -> float:
        locked = host.pin_memory()
        pair = (device, locked) if to_device else (locked, device)
        return float(n / b.seconds(lambda: pair[0].copy_(pair[1], non_blocking=True), 3) / 1e9)

    b.attempt("to the device, page-locked", "GB/s", lambda: pinned(True))
    b.attempt("to the host, page-locked", "GB/s", lambda: pinned(False))


def _waiting(torch: Any, x: Any, y: Any, w: Any) -> dict[str, tuple[Callable[[], Any], int]]:
    """Kernels that wait for memory: (call, how many times the bytes of x it moves)."""
    F, n = torch.nn.functional, x.shape[1]
    return {
        "clone": (lambda: x.clone(), 2),
        "add": (lambda: x + y, 3),
        "gelu": (lambda: F.gelu(x), 2),
        "gelu of x * y + 1": (lambda: F.gelu(x * y + 1), 7),
        "transposed copy": (lambda: x.t().contiguous(), 2),
        "sum": (lambda: x.sum(), 1),
        "sum of rows": (lambda: x.sum(1), 1),
        "sum of columns": (lambda: x.sum(0), 1),
        "softmax": (lambda: x.softmax(1), 2),
        "layer_norm": (lambda: F.layer_norm(x, (n,), w, w), 2),
        "rms_norm": (lambda: F.rms_norm(x, (n,), w), 2),
        "cumsum": (lambda: x.cumsum(1), 2),
        "rand_like": (lambda: torch.rand_like(x), 1),
    }


def bandwidth(b: Any) -> None:
    """Bytes read and written a second."""
    torch = b.torch
    for dtype, item in ((torch.float32, 4), (torch.bfloat16, 2)):
        rows, n = b.size(8192, 16), b.size(4096, 64)
        x, y = (torch.randn(rows, n, device="cuda").to(dtype) for _ in range(2))
        w = torch.randn(n, device="cuda").to(dtype)
        for name, (work, times) in _waiting(torch, x, y, w).items():
            moved = times * rows * n * item
            full = f"{name}, {str(dtype).rpartition('.')[2]}"
            b.attempt(full, "GB/s", lambda work=work, moved=moved: moved / b.seconds(work) / 1e9)


def products(b: Any) -> None:
    """Matrix products: operations a second."""
    torch = b.torch
    for name in ("float32", "bfloat16", "float16"):
        dtype = getattr(torch, name)
        for n in (256, 1024, 4096, 8192) if not b.fake else (32,):
            if name == "float32" and n == 8192:
                continue
            x, y = (torch.randn(n, n, device="cuda").to(dtype) for _ in range(2))
            for kind, work in (
                ("", lambda x=x, y=y: x @ y),
                (" by the transpose", lambda x=x, y=y: x @ y.t()),
            ):
                b.attempt(
                    f"{name} {n}{kind}", "TFLOP/s", lambda work=work, n=n: 2 * n**3 / b.seconds(work) / 1e12
                )
    n = b.size(4096, 32)
    x, y, bias = (
        torch.randn(n, n, device="cuda"),
        torch.randn(n, n, device="cuda"),
        torch.randn(n, device="cuda"),
    )
    torch.backends.cuda.matmul.allow_tf32 = True
    b.attempt("TF32", "TFLOP/s", lambda: 2 * n**3 / b.seconds(lambda: x @ y) / 1e12)
    torch.backends.cuda.matmul.allow_tf32 = False
    given = (x.bfloat16(), y.bfloat16(), bias.bfloat16())
    b.attempt(
        "linear with bias, bfloat16",
        "TFLOP/s",
        lambda: 2 * n**3 / b.seconds(lambda: torch.nn.functional.linear(*given)) / 1e12,
    )
    a, c = (torch.randn(64, b.size(512, 16), 64, device="cuda") for _ in range(2))
    b.attempt("bmm of 64", "us", lambda: b.seconds(lambda: a @ c.transpose(1, 2)) * 1e6)


def ops(b: Any) -> None:
    """What a call costs the host."""
    torch = b.torch
    F = torch.nn.functional
    x, y = torch.randn(8, 8, device="cuda"), torch.randn(8, 8, device="cuda")
    w = torch.randn(8, 8, device="cuda", requires_grad=True)
    cases = {
        "add": lambda: x + y,
        "mul by a number": lambda: x * 2,
        "gelu": lambda: F.gelu(x),
        "sum": lambda: x.sum(),
        "softmax": lambda: x.softmax(1),
        "layer_norm": lambda: F.layer_norm(x, (8,)),
        "matmul": lambda: x @ y,
        "view": lambda: x.view(64),
        "empty": lambda: torch.empty(8, 8, device="cuda"),
        "index": lambda: x[1:3],
        "add_": lambda: x.add_(0),
        "forward and backward": lambda: F.gelu(x @ w).sum().backward(),
    }
    for name, work in cases.items():
        b.attempt(name, "us", lambda work=work: b.host_seconds(work) * 1e6)
    graph = torch.cuda.CUDAGraph()

    def captured() -> float:
        with torch.cuda.graph(graph):
            z = x
            for _ in range(100):
                z = F.gelu(z)
        return float(b.seconds(graph.replay) * 1e6 / 100)

    b.attempt("a node of a graph's replay", "us", captured)


def attention(b: Any) -> None:
    """scaled_dot_product_attention: operations a second, causal ones counted as half."""
    torch = b.torch
    F = torch.nn.functional
    for length in (1024, 4096) if not b.fake else (16,):
        heads, batch, d = b.size(16, 2), b.size(4, 1), b.size(128, 8)
        q, k, v = (torch.randn(batch, heads, length, d, device="cuda").bfloat16() for _ in range(3))
        for t in (q, k, v):
            t.requires_grad_()
        work = 2 * batch * heads * length**2 * d

        def forward(q: Any = q, k: Any = k, v: Any = v) -> Any:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

        def both() -> None:
            forward().sum().backward()

        b.attempt(f"forward, {length}", "TFLOP/s", lambda work=work, f=forward: work / b.seconds(f, 5) / 1e12)
        b.attempt(f"both ways, {length}", "ms", lambda f=both: b.seconds(f, 5) * 1e3)
    q, k, v = (
        torch.randn(b.size(4, 1), b.size(16, 2), b.size(1024, 16), b.size(64, 8), device="cuda")
        for _ in "qkv"
    )
    plain = F.scaled_dot_product_attention
    b.attempt("forward, float32", "ms", lambda: b.seconds(lambda: plain(q, k, v, is_causal=True), 5) * 1e3)


def _gpt(torch: Any, *sizes: int) -> Any:
    from benchmarks.gpu import models

    return models.GPT(*sizes)


def _cnn(torch: Any, width: int) -> Any:
    from benchmarks.gpu import models

    return models.cnn(width)


def steps(b: Any) -> None:
    """Training steps, in milliseconds."""
    torch = b.torch
    torch.manual_seed(0)

    def timed(model: Any, call: Callable[[], Any], amp: bool) -> float:
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16, enabled=amp):
                loss = call()
            loss.backward()
            optimizer.step()

        return float(b.seconds(step, 5) * 1e3)

    def gpt(
        vocabulary: int, length: int, width: int, layers: int, heads: int, batch: int, amp: bool
    ) -> float:
        model = _gpt(torch, vocabulary, length, width, layers, heads).cuda()
        x = torch.randint(0, vocabulary, (batch, length), device="cuda")
        return timed(model, lambda: model(x, x), amp)

    def cnn(width: int, batch: int, size: int) -> float:
        model = _cnn(torch, width).cuda()
        x, y = torch.randn(batch, 3, size, size, device="cuda"), torch.randint(0, 10, (batch,), device="cuda")
        return timed(model, lambda: torch.nn.functional.cross_entropy(model(x), y), False)

    small = (65, 256, 384, 6, 6, 64) if not b.fake else (11, 8, 16, 1, 2, 2)
    b.attempt("char_gpt", "ms", lambda: gpt(*small, False))
    b.attempt("char_gpt, autocast", "ms", lambda: gpt(*small, True))
    b.attempt("CNN", "ms", lambda: cnn(b.size(64, 4), b.size(128, 2), b.size(32, 8)))
    if not b.fake:
        b.attempt("GPT of 124 M, autocast", "ms", lambda: gpt(50304, 1024, 768, 12, 12, 8, True))

    def replayed() -> float:
        model = _gpt(torch, *small[:5]).cuda()
        x = torch.randint(0, small[0], (small[5], small[1]), device="cuda")
        sgd = torch.optim.SGD(model.parameters(), 1e-3)

        def step() -> None:
            sgd.zero_grad(set_to_none=True)
            model(x, x).backward()
            sgd.step()

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return float(b.seconds(graph.replay, 5) * 1e3)

    b.attempt("char_gpt by SGD, a graph's replay", "ms", replayed)


def compiled(b: Any) -> None:
    """Training steps by torch.compile, in milliseconds: a step of AdamW whole, and a model alone."""
    torch = b.torch
    torch.manual_seed(0)
    small = (65, 256, 384, 6, 6, 64) if not b.fake else (11, 8, 16, 1, 2, 2)
    x = torch.randint(0, small[0], (small[5], small[1]), device="cuda")

    def whole(amp: bool) -> float:
        model = _gpt(torch, *small[:5]).cuda()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

        def step(x: Any) -> Any:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16, enabled=amp):
                loss = model(x, x)
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step)
        return float(b.seconds(lambda: run(x), 5) * 1e3)

    def forward(amp: bool) -> float:
        model = _gpt(torch, *small[:5]).cuda()
        optimizer, run = torch.optim.AdamW(model.parameters(), 1e-4), torch.compile(model)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16, enabled=amp):
                loss = run(x, x)
            loss.backward()
            optimizer.step()

        return float(b.seconds(step, 5) * 1e3)

    def trained(model: Any, call: Callable[[Any], Any]) -> float:
        optimizer, run = torch.optim.AdamW(model.parameters(), 1e-4), torch.compile(call)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16):
                loss = run(model)
            loss.backward()
            optimizer.step()

        return float(b.seconds(step, 5) * 1e3)

    def large() -> float:
        sizes = (50304, 1024, 768, 12, 12) if not b.fake else small[:5]
        ids = torch.randint(0, sizes[0], (b.size(8, 2), sizes[1]), device="cuda")
        return trained(_gpt(torch, *sizes).cuda(), lambda model: model(ids, ids))

    def pictures() -> float:
        from benchmarks.gpu import models

        classes, size = b.size(1000, 3), b.size(224, 32)
        model = models.resnet(b.size(64, 2), (3, 4, 6, 3) if not b.fake else (1, 1), classes).cuda()
        x = torch.randn(b.size(64, 2), 3, size, size, device="cuda")
        y = torch.randint(0, classes, (len(x),), device="cuda")
        return trained(model, lambda model: torch.nn.functional.cross_entropy(model(x), y))

    b.attempt("GPT of 124 M, bfloat16", "ms", large)
    b.attempt("ResNet-50, bfloat16", "ms", pictures)
    for amp, name in ((False, ""), (True, ", autocast")):
        b.attempt(f"char_gpt, the model{name}", "ms", lambda amp=amp: forward(amp))
        if b.library == "rushlight":  # PyTorch compiles no step() of an optimizer that is not capturable so
            b.attempt(f"char_gpt, the step{name}", "ms", lambda amp=amp: whole(amp))


def memory(b: Any) -> None:
    """Whether a long run grows, and the peak of a step."""
    torch = b.torch
    torch.manual_seed(0)
    small = (65, 64, 128, 2, 4) if not b.fake else (11, 8, 16, 1, 2)
    model = _gpt(torch, *small).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    x = torch.randint(0, small[0], (b.size(16, 2), small[1]), device="cuda")

    def run(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            model(x, x).backward()
            optimizer.step()
        torch.cuda.synchronize()

    run(b.size(20, 2))
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    began = time.perf_counter()
    run(b.size(1000, 3))
    b.line("steps", (time.perf_counter() - began) / b.size(1000, 3) * 1e3, "ms")
    b.line("growth of what is allocated", torch.cuda.memory_allocated() - before[0], "bytes")
    b.line("growth of what is reserved", torch.cuda.memory_reserved() - before[1], "bytes")
    b.line("peak of what is allocated", torch.cuda.max_memory_allocated() / 2**20, "MiB")

    def refused() -> str:
        try:
            torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
        except torch.cuda.OutOfMemoryError as error:
            torch.ones(4, device="cuda").sum().item()  # it goes on
            return str(error)[:160]
        return "no error"

    b.attempt("out of memory", "", refused)


def errors(b: Any) -> None:
    """A wrong index: the last thing that its process does."""
    torch = b.torch
    x = torch.randn(4, device="cuda")
    for what in (lambda: x[torch.tensor([9], device="cuda")], torch.cuda.synchronize, lambda: x + 1):
        try:
            what()
            b.line("a call after a wrong index", "no error yet")
        except torch.AcceleratorError as error:
            b.line("a call after a wrong index", str(error).splitlines()[0][:160])


SECTIONS: dict[str, Callable[[Any], None]] = {
    f.__name__: f
    for f in (machine, copies, bandwidth, products, ops, attention, steps, compiled, memory, errors)
}
