"""The sections of benchmarks.gpu that are about results: rules that hardware alone enforces, and numbers that
must be PyTorch's own.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

# The largest array's bytes, beyond what 32 bits number.
LARGE = (1 << 31) + (1 << 20)


def rules(b: Any) -> None:
    """Each a small program whose result is known: "good", or what came."""
    b.torch.backends.cudnn.allow_tf32 = False
    for name, program in _programs(b).items():
        b.attempt(name, "", lambda program=program: _told(b.torch, program))


def _told(torch: Any, program: Callable[[], Any]) -> str:
    found = program()
    torch.cuda.synchronize()  # where what failed on the device is told
    if found is not True:
        raise AssertionError(f"{found}")
    return "good"


def _close(torch: Any, found: Any, want: Any, tolerance: float = 1e-4) -> bool | str:
    """Whether a device's result is the host's; how far it is where it is not."""
    a, w = found.detach().cpu().double(), want.detach().double()
    good = torch.allclose(a, w, tolerance, tolerance, equal_nan=True)
    return bool(good) or f"differs by {(a - w).abs().max().item():.3g}"


def _first_wrong(torch: Any, pairs: Sequence[tuple[Any, Any]], tolerance: float) -> bool | str:
    """True, or how far the first of some results is from what it should be."""
    for found, want in pairs:
        told = _close(torch, found, want, tolerance)
        if told is not True:
            return told
    return True


def _programs(b: Any) -> dict[str, Callable[[], Any]]:
    torch = b.torch
    found = {**_of_memory(b, torch), **_of_streams(b, torch), **_of_graphs(torch), **_of_numbers(torch)}
    return {**found, **_of_kernels(b, torch)}


def _of_memory(b: Any, torch: Any) -> dict[str, Callable[[], Any]]:
    size = b.size(LARGE, 1 << 12)

    def large() -> Any:
        x = torch.ones(size, dtype=torch.uint8, device="cuda")
        x[-1] = 7
        y = x + x
        return (y[-1].item(), y[0].item(), x.sum(dtype=torch.int64).item()) == (14, 2, size + 6)

    def unaligned() -> Any:
        x = torch.arange(1.0, 1002.0)
        g = x.cuda()
        return _close(torch, torch.cat([(g[k:] * 2 + 1) for k in range(5)]), torch.cat([x[k:] * 2 + 1 for k in range(5)]))  # fmt: skip  # noqa: E501

    def pinned() -> Any:
        source = torch.arange(1 << 16).pin_memory()
        there = source.to("cuda", non_blocking=True)
        back = torch.empty(1 << 16, dtype=torch.int64).pin_memory()
        back.copy_(there * 2, non_blocking=True)
        torch.cuda.synchronize()
        return torch.equal(back, source * 2)

    def threads() -> Any:
        got: list[float] = []

        def work() -> None:
            w = torch.ones(64, 64, device="cuda", requires_grad=True)
            (w @ w).sum().backward()
            got.append(w.grad.sum().item())

        each = [threading.Thread(target=work) for _ in range(4)]
        for t in each:
            t.start()
        for t in each:
            t.join()
        return got == [2.0 * 64**3] * 4

    return {"more than 2**31 elements": large, "addresses of no multiple of 16": unaligned,
            "page-locked memory both ways": pinned, "four threads": threads}  # fmt: skip


def _of_streams(b: Any, torch: Any) -> dict[str, Callable[[], Any]]:
    n = b.size(2048, 16)

    def waits() -> Any:
        x = torch.ones(n, n, device="cuda") / n
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = x
            for _ in range(8):
                y = y @ x
        torch.cuda.current_stream().wait_stream(side)
        y.record_stream(torch.cuda.current_stream())
        return _close(torch, y, torch.full((n, n), 1 / n))

    def recorded() -> Any:
        side, kept = torch.cuda.Stream(), []
        for k in range(20):
            x = torch.full((n, n), float(k), device="cuda")
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                kept.append((x @ x)[0, 0] / n)
            x.record_stream(side)
            del x
        torch.cuda.synchronize()
        return [round(t.item()) for t in kept] == [k * k for k in range(20)]

    def many() -> Any:
        streams = [torch.cuda.Stream() for _ in range(70)]
        sums = []
        for k, s in enumerate(streams):
            with torch.cuda.stream(s):
                sums.append(torch.full((9,), float(k), device="cuda").sum())
        torch.cuda.synchronize()
        return [t.item() for t in sums] == [9.0 * k for k in range(70)]

    def timed() -> Any:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        x = torch.ones(n, n, device="cuda")
        start.record()
        for _ in range(10):
            x = x @ x * 0
        end.record()
        end.synchronize()
        return 0 < start.elapsed_time(end) < 10_000

    return {"streams that wait": waits, "record_stream": recorded, "seventy streams": many, "events": timed}


def _of_graphs(torch: Any) -> dict[str, Callable[[], Any]]:
    F = torch.nn.functional

    def replays() -> Any:
        x, w = torch.zeros(32, 32, device="cuda"), torch.randn(32, 32, device="cuda")
        for _ in range(2):
            F.layer_norm(F.gelu(x @ w), (32,)).softmax(1).sum(0)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = F.layer_norm(F.gelu(x @ w), (32,)).softmax(1).sum(0)
        new = torch.randn(32, 32)
        x.copy_(new)
        graph.replay()
        return _close(torch, y, F.layer_norm(F.gelu(new @ w.cpu()), (32,)).softmax(1).sum(0))

    def forked() -> Any:
        x, graph = torch.ones(256, device="cuda"), torch.cuda.CUDAGraph()
        (x * 2 + 1).sum()
        with torch.cuda.graph(graph):
            side, part = torch.cuda.Stream(), x * 2
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                y = (part + 1).sum()
            part.record_stream(side)
            torch.cuda.current_stream().wait_stream(side)
        for _ in range(3):
            graph.replay()
        return y.item() == 768

    def dropped() -> Any:
        x, graph = torch.ones(4096, device="cuda"), torch.cuda.CUDAGraph()
        F.dropout(x, 0.5)
        with torch.cuda.graph(graph):
            y = F.dropout(x, 0.5)
        seen = []
        for _ in range(3):
            graph.replay()
            seen.append(y.tolist())
        return seen[0] != seen[1] != seen[2] and all(1800 < sum(s) / 2 < 2300 for s in seen)

    def compiled() -> Any:
        model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))
        there = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)).cuda()
        there.load_state_dict(model.state_dict())
        losses: list[list[float]] = []
        data = [torch.randn(8, 16) for _ in range(6)]
        for m, where in ((model, "cpu"), (there, "cuda")):
            optimizer = torch.optim.AdamW(m.parameters(), 1e-2)

            def step(x: Any, m: Any = m, optimizer: Any = optimizer) -> Any:
                optimizer.zero_grad()
                loss = m(x).square().mean()
                loss.backward()
                optimizer.step()
                return loss

            run = torch.compile(step) if where == "cuda" else step
            losses.append([run(x.to(where)).item() for x in data])
        return _close(torch, torch.tensor(losses[1]), torch.tensor(losses[0]))

    return {"a graph's replay": replays, "a graph of two streams": forked, "dropout in a graph": dropped,
            "a compiled step": compiled}  # fmt: skip


def _of_numbers(torch: Any) -> dict[str, Callable[[], Any]]:
    def tiny() -> Any:
        x = torch.tensor([1e-40, -3e-42, 1.4e-45])
        return torch.equal((x.cuda() * 1 + 0).cpu(), x)

    def rounded() -> Any:
        x, y = torch.randn(10_000), torch.rand(10_000) + 0.1
        g, h = x.cuda(), y.cuda()
        pairs = ((g / h, x / y), (h.sqrt(), y.sqrt()), (g * h, x * y))
        return all(torch.equal(a.cpu(), w) for a, w in pairs)

    def not_numbers() -> Any:
        x = torch.tensor([1.0, float("nan"), -float("inf"), 2.0])
        g = x.cuda()
        return bool(g.max().isnan() and g.sort().values[-1].isnan() and g.argmax().item() == 1 and (g < 3).tolist() == [True, False, True, True])  # fmt: skip  # noqa: E501

    def functions() -> Any:
        x = torch.linspace(-12, 12, 10_001)
        for name in ("exp", "tanh", "sigmoid", "sin", "erf", "expm1", "cosh"):
            found = _close(torch, getattr(torch, name)(x.cuda()), getattr(torch, name)(x), 2e-6)
            if found is not True:
                return f"{name} {found}"
        return True

    return {"denormal numbers": tiny, "exact division and roots": rounded, "nan": not_numbers,
            "functions": functions}  # fmt: skip


def _products(torch: Any, of: Any, tolerance: float) -> Callable[[], Any]:
    F = torch.nn.functional

    def work() -> Any:
        x, y, c = torch.randn(3, 65, 33).to(of), torch.randn(3, 33, 17).to(of), torch.randn(17).to(of)
        wide = torch.complex128 if of.is_complex else torch.float64
        want, found = x.to(wide) @ y.to(wide), x.cuda() @ y.cuda()
        if of.is_complex:
            return _close(torch, torch.view_as_real(found), torch.view_as_real(want), tolerance)
        w = y[0].t().contiguous()
        layer = F.linear(x[0].cuda(), w.cuda(), c.cuda())
        parts = ((found, want), (layer, F.linear(x[0].double(), w.double(), c.double())))
        return _first_wrong(torch, parts, tolerance)

    return work


def _attention(torch: Any, of: Any, tolerance: float, rows: int) -> Callable[[], Any]:
    F = torch.nn.functional

    def work() -> Any:
        given = [torch.randn(2, 3, rows, 64).to(of).requires_grad_() for _ in range(3)]
        there = [t.detach().cuda().requires_grad_() for t in given]
        want = F.scaled_dot_product_attention(*[t.float() for t in given], is_causal=True)
        found = F.scaled_dot_product_attention(*there, is_causal=True)
        want.sum().backward()
        found.sum().backward()
        parts = [(found, want), *[(t.grad, s.grad) for t, s in zip(there, given, strict=True)]]
        return next((r for r in [_close(torch, a, w, tolerance) for a, w in parts] if r is not True), True)

    return work


def _of_kernels(b: Any, torch: Any) -> dict[str, Callable[[], Any]]:
    F = torch.nn.functional

    def convolution() -> Any:
        x, w = torch.randn(2, 8, 17, 15, requires_grad=True), torch.randn(12, 4, 3, 3, requires_grad=True)
        g, v = (t.detach().cuda().requires_grad_() for t in (x, w))
        want, found = F.conv2d(x, w, None, 2, 1, 1, 2), F.conv2d(g, v, None, 2, 1, 1, 2)
        want.sin().sum().backward()
        found.sin().sum().backward()
        return _first_wrong(torch, ((found, want), (g.grad, x.grad), (v.grad, w.grad)), 1e-3)

    def rows() -> Any:
        shapes = ((1, 1), (3, 31), (5, 33), (2, 1025), (300, 7), (4, 70_000))
        for shape in shapes[: b.size(len(shapes), 3)]:
            x = torch.randn(shape)
            for name, f in _lines(F).items():
                found = _close(torch, f(x.cuda()), f(x), 1e-3)
                if found is not True:
                    return f"{name} of {shape} {found}"
        return True

    made: dict[str, Callable[[], Any]] = {"convolution": convolution, "rows of many lengths": rows}
    for name, tolerance in _TOLERANCES.items():
        made[f"products of {name}"] = _products(torch, getattr(torch, name), tolerance)
        if name in ("float32", "bfloat16", "float16"):
            made[f"attention of {name}"] = _attention(
                torch, getattr(torch, name), 10 * tolerance, b.size(70, 9)
            )
    return made


# How far products may be from those in double precision.
_TOLERANCES = {"float32": 1e-4, "float64": 1e-9, "bfloat16": 0.1, "float16": 0.02, "complex64": 1e-4}


def _lines(F: Any) -> dict[str, Callable[[Any], Any]]:
    """What is done along rows and columns."""
    return {
        "softmax": lambda t: t.softmax(1),
        "sum of rows": lambda t: t.sum(1),
        "sum of columns": lambda t: t.sum(0),
        "amax": lambda t: t.amax(1),
        "layer_norm": lambda t: F.layer_norm(t, t.shape[1:]),
        "cumsum": lambda t: t.cumsum(1),
        "sort": lambda t: t.sort(1).values,
        "var": lambda t: t.var(1, correction=0),
    }


# --- numbers that are PyTorch's own -----------------------------------------------------------------


def numbers(b: Any) -> None:
    """Random numbers after a seed, and what the allocator says of a sequence of requests: text to compare."""
    torch = b.torch
    n = b.size(70_000, 700)
    ones = torch.ones(n, device="cuda")
    half = ones.bfloat16()
    draws: dict[str, Callable[[], Any]] = {
        "rand": lambda: torch.rand(n, device="cuda"),
        "rand, float64": lambda: torch.rand(n, device="cuda", dtype=torch.float64),
        "rand, bfloat16": lambda: torch.rand(n, device="cuda", dtype=torch.bfloat16),
        "randn": lambda: torch.randn(n, device="cuda"),
        "randn, float64": lambda: torch.randn(n, device="cuda", dtype=torch.float64),
        "randn, float16": lambda: torch.randn(n, device="cuda", dtype=torch.float16),
        "randint": lambda: torch.randint(0, 1000, (n,), device="cuda"),
        "randint, large": lambda: torch.randint(0, 1 << 40, (n,), device="cuda"),
        "randperm": lambda: torch.randperm(n, device="cuda"),
        "randperm of few": lambda: torch.randperm(100, device="cuda"),
        "uniform_": lambda: ones.clone().uniform_(-1, 3),
        "normal_": lambda: ones.clone().normal_(2, 3),
        "exponential_": lambda: ones.clone().exponential_(0.5),
        "bernoulli_": lambda: ones.clone().bernoulli_(0.3),
        "bernoulli": lambda: torch.bernoulli(ones * 0.3),
        "geometric_": lambda: ones.clone().geometric_(0.3),
        "cauchy_": lambda: ones.clone().cauchy_(),
        "log_normal_": lambda: ones.clone().log_normal_(),
        "dropout": lambda: torch.nn.functional.dropout(ones, 0.4),
        "dropout, bfloat16": lambda: torch.nn.functional.dropout(half, 0.4),
        "multinomial": lambda: torch.multinomial(torch.ones(50, device="cuda"), 20),
        "multinomial, again": lambda: torch.multinomial(torch.ones(50, device="cuda"), 200, True),
        "poisson": lambda: torch.poisson(ones * 4),
        "poisson, large": lambda: torch.poisson(ones * 40),
        "gamma": lambda: torch._standard_gamma(ones * 1.5),
        "gamma, small": lambda: torch._standard_gamma(ones * 0.5),
        "kaiming_uniform_": lambda: torch.nn.init.kaiming_uniform_(torch.empty(70, 30, device="cuda")),
        "trunc_normal_": lambda: torch.nn.init.trunc_normal_(torch.empty(70, 30, device="cuda")),
    }
    for name, draw in draws.items():

        def told(draw: Callable[[], Any] = draw) -> str:
            torch.manual_seed(1234)
            first, then = draw(), torch.rand(2, device="cuda")  # whose place says how many words were used
            flat = first.flatten().double()
            some = [
                f"{v:.5g}"
                for v in [*flat[:4].tolist(), *flat[-2:].tolist(), flat.mean().item(), *then.tolist()]
            ]
            return " ".join(some)

        b.attempt(name, "", told)
    b.attempt("10,000 requests of memory", "", lambda: _requests(b, torch))


def _requests(b: Any, torch: Any) -> str:
    """The allocator's figures along a fixed sequence of requests."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    draw, held, told = random.Random(7), list[Any](), list[str]()
    for step in range(b.size(10_000, 500)):
        if held and (draw.random() < 0.48 or len(held) > 200):
            held.pop(draw.randrange(len(held)))
        else:
            top = draw.choice((4096, 1 << 21, 24 << 20))
            size = draw.randrange(1, b.size(top, min(top, 1 << 21)))
            held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        if step % 1000 == 999 or step == 499:
            now = torch.cuda.memory_allocated() - before[0], torch.cuda.memory_reserved() - before[1]
            told.append(f"{now[0]}/{now[1]}")
    return " ".join(told)


SECTIONS: dict[str, Callable[[Any], None]] = {"rules": rules, "numbers": numbers}
