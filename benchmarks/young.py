"""python -m benchmarks.young: whole programs in new processes, empty cache and full, beside PyTorch.

    --torch-python PATH   an interpreter with PyTorch     --rounds N   how often each is run, in turn (3)
    --write               the section of docs/performance.md

A program's time is the processor's, of all its threads, from the start of the interpreter on, and the least
of the rounds: on a busy machine it says nearly the same.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.measure import ROOT, environment
from benchmarks.page import parser, table_section, write_section

HEADING = "## Young processes"
OF_WHEELS = "## Young processes with a wheel's kernels"  # where tools/kernel_pack.py has been run
CACHES = ("an empty cache", "a full cache")


def mlp(torch: Any) -> None:
    """A small MLP, 100 steps."""
    nn = torch.nn
    layers = [nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2)]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(256, 20), torch.randint(0, 2, (256,))
    for _ in range(100):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def ops(torch: Any) -> None:
    """Sixty different ops, once."""
    f = torch.nn.functional
    x, y, w, images = torch.randn(8, 8), torch.rand(8, 8) + 0.5, torch.randn(4, 8), torch.randn(1, 3, 8, 8)
    places = torch.zeros(8, dtype=torch.long)
    for name in (
        "exp log sqrt rsqrt sigmoid tanh sin cos abs neg relu floor erf square sum mean var std prod max min "
        "argmax sort isnan sign norm"
    ).split():
        getattr(torch, name)(y)
    for name in "gelu silu softplus elu leaky_relu dropout".split():
        getattr(f, name)(x)
    for each in (
        x + y,
        x - y,
        x * y,
        x / y,
        y**2,
        y**x,
        x @ y,
        x < y,
        torch.where(x < y, x, y),
        x.clamp(0, 1),
    ):
        each.softmax(-1) if each is x else each.view(64)
    x.softmax(-1), x.log_softmax(-1), f.layer_norm(x, (8,)), torch.cat([x, y]), torch.stack([x, y])
    x.t().contiguous(), x[1:3], x.gather(1, places[:, None]), x.topk(2), x.cumsum(0), x.logsumexp(0)
    f.linear(x, w), f.conv2d(images, torch.ones(2, 3, 3, 3)), f.max_pool2d(images, 2)
    f.batch_norm(images, None, None, training=True), f.cross_entropy(x, places), f.mse_loss(x, y)
    f.binary_cross_entropy_with_logits(x, y)


def residual(torch: Any) -> None:
    """A small residual network, 5 steps."""
    nn = torch.nn

    base: Any = nn.Module

    class Block(base):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.one, self.two = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
            self.first, self.second = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

        def forward(self, x: Any) -> Any:
            return torch.relu(x + self.second(self.two(torch.relu(self.first(self.one(x))))))

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3), Block(16), Block(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(16, 3, 18, 18), torch.randint(0, 10, (16,))
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def transformer(torch: Any) -> None:
    """A transformer's encoder, 20 steps."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
    model = nn.Sequential(nn.Embedding(50, 32), nn.TransformerEncoder(layer, 2), nn.Linear(32, 50))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, 50, (8, 16))
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()


def gan(torch: Any) -> None:
    """A generator and a discriminator, 20 steps each."""
    nn, loss = torch.nn, torch.nn.functional.binary_cross_entropy_with_logits
    maker = nn.Sequential(nn.Linear(8, 64), nn.LeakyReLU(0.2), nn.Linear(64, 32), nn.Tanh())
    judge = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(64, 1))
    optimizers = [torch.optim.Adam(m.parameters(), lr=1e-3, betas=(0.5, 0.999)) for m in (judge, maker)]
    real, ones, zeros = torch.randn(64, 32), torch.ones(64, 1), torch.zeros(64, 1)
    for _ in range(20):
        made = maker(torch.randn(64, 8))
        optimizers[0].zero_grad()
        (loss(judge(real), ones) + loss(judge(made.detach()), zeros)).backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        loss(judge(made), ones).backward()
        optimizers[1].step()


PROGRAMS: dict[str, Callable[[Any], None]] = {f.__name__: f for f in (mlp, ops, residual, transformer, gan)}


def run(package: str, name: str) -> None:
    """One program; the processor's seconds so far are the last that is printed."""
    from importlib import import_module
    from time import process_time

    torch = import_module(package)
    torch.manual_seed(0)
    PROGRAMS[name](torch)
    print(process_time())


def seconds(python: str, package: str, name: str, cache: str = "") -> float:
    """The processor's seconds of a program in a new process."""
    given = {**environment(1), "RUSHLIGHT_CACHE_DIR": cache}
    command = [python, "-m", "benchmarks.young", "--run", package, name]
    done = subprocess.run(
        command, cwd=ROOT, env=given, capture_output=True, text=True, check=True, timeout=600
    )
    return float(done.stdout.split()[-1])


def measured(name: str, torch_python: str, rounds: int) -> list[float]:
    """The least seconds with an empty cache, with a full one, and of PyTorch."""
    found: list[list[float]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            ours = [seconds(sys.executable, "rushlight", name, cache) for _ in CACHES]
        found.append([*ours, seconds(torch_python, "torch", name)])
    return [min(each) for each in zip(*found, strict=True)]


def section(results: dict[str, list[float]], packed: bool, load: float) -> str:
    """The heading, how it was measured, and a row for each program."""
    notes = [
        "`python -m benchmarks.young --write`: programs from the start of the interpreter to their end, the",
        "processor's milliseconds, one thread; minima of rounds in turn, on a machine with a load of "
        f"{load:.0f}.",
        f"Kernels that come with a wheel (`tools/kernel_pack.py`) were {'there' if packed else 'not there'}.",
    ]
    columns = ("program", *CACHES, "PyTorch", "ratios")
    rows = [
        (
            (PROGRAMS[name].__doc__ or "").rstrip("."),
            *(f"{1e3 * each:.0f}" for each in (empty, full, theirs)),
            f"{empty / theirs:.2f}, {full / theirs:.2f}",
        )
        for name, (empty, full, theirs) in results.items()
    ]
    return table_section(OF_WHEELS if packed else HEADING, notes, columns, rows)


def main() -> None:
    """Measure, print, and write the section where asked."""
    options = parser(__doc__, rounds=3)
    options.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.run:
        run(*asked.run)
        return
    from rushlight._engine.kernels.runtime import packed

    results = {name: measured(name, asked.torch_python, asked.rounds) for name in PROGRAMS}
    text = section(results, bool(packed._index()[1]), os.getloadavg()[0])
    print(text)
    if asked.write:
        write_section(text)


if __name__ == "__main__":
    main()
