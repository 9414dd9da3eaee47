"""Machine code for the wheel: what the samples of all rows and training steps need.

    python tools/kernel_pack.py [SET ...]     before `python -m build`; sets of instructions as RUSHLIGHT_CPU
                                              takes them, x86-64-v3 and x86-64-v4 if none is given

Each set is written by a process that runs with it, so what this processor cannot run is skipped, and said.
The files lie beside rushlight/_engine/kernels/runtime/packed.py, which reads them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETS = ("x86-64-v3", "x86-64-v4")


def train() -> None:
    """Steps of small networks by usual optimizers."""
    import rushlight as torch

    nn, f = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    images, labels = torch.randn(8, 3, 16, 16), torch.randint(0, 5, (8,))
    tokens = torch.randint(0, 30, (8, 64))
    convolving = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(392, 5)
    )
    layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, activation="gelu", norm_first=True)
    attending = nn.Sequential(nn.Embedding(30, 32), layer, nn.LayerNorm(32), nn.Flatten(), nn.Linear(2048, 5))
    for model, x in ((convolving, images), (attending, tokens)):
        for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
            optimizer = getattr(torch.optim, name)(model.parameters(), lr=1e-3)
            for _ in range(2):
                optimizer.zero_grad()
                f.cross_entropy(model(x), labels).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
    recurrent = nn.LSTM(16, 32)
    recurrent(torch.randn(20, 4, 16))[0].sum().backward()
    large = torch.randn(600, 700)
    large @ large.T, large.sum(), large.sum(0), large.softmax(-1), large.T.contiguous(), torch.randperm(50000)


def points() -> None:
    """Pointwise rows with their attributes' defaults, and their gradients."""
    import rushlight as torch
    from rushlight._engine.dispatch.dispatcher import function
    from rushlight._engine.ops.signature import REQUIRED
    from rushlight._engine.ops.table import ROWS

    for row in [row for row in ROWS.values() if row.kind == "pointwise"]:
        needed = [p for p in row.params if p.is_tensor and p.default is REQUIRED]
        if any(p.default is REQUIRED and not p.is_tensor for p in row.params):
            continue
        for dtype in (torch.float32, torch.bfloat16):
            with contextlib.suppress(RuntimeError, TypeError, ValueError):
                x = [torch.full((3,), 0.5, dtype=dtype).requires_grad_() for _ in needed]
                function(row)(*[t.detach() for t in x])
                function(row)(*x).sum().backward()


def collect() -> None:
    """Write the file of the set that this process runs with."""
    from rushlight._engine.core.settings import settings
    from rushlight._engine.kernels.emit import target
    from rushlight._engine.kernels.runtime import native, packed
    from tests.engine.ops import same_bits

    made, code = {}, native._code

    def noted(kind: str, text: str, make: Callable[[], bytes]) -> bytes:
        made[kind, text] = found = code(kind, text, make)
        return found

    native._code = noted
    try:
        target.sets()
    except target.UnsupportedProcessor as error:
        sys.exit(str(error))
    train()
    points()
    for _, call in same_bits.of_rows():
        same_bits.quietly(call)
    packed.write(packed.path(settings.cpu), made)
    size = os.path.getsize(packed.path(settings.cpu))
    print(f"{packed.path(settings.cpu)}: {len(made)} kernels, {size / 1e6:.2f} MB")


def main() -> None:
    """Each set in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        collect()
        return
    for each in given.sets or SETS:
        own = {
            "RUSHLIGHT_CPU": each,
            "RUSHLIGHT_KERNELS": "llvm",
            "RUSHLIGHT_CACHE": "0",
            "RUSHLIGHT_PACKED": "0",
        }
        environment = {**os.environ, **own, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, __file__, "--here"], env=environment, cwd=ROOT, check=False)


if __name__ == "__main__":
    main()
