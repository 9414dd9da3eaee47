"""Whole programs on a simulated device: the examples reach the CPU's losses, the guides' fragments run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from benchmarks.gpu.models import GPT

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "goldens"))
import record_examples as examples  # noqa: E402 - it reads the losses that they print

SIMULATED = {**os.environ, "RUSHLIGHT_CUDA": "simulated:4GB"}
# What says in words of its own what PyTorch says: the same errors as on the CPU.
RECORD = json.loads((ROOT / "tests/goldens/guides.json").read_text(encoding="utf-8"))


def run(*command: str, device: bool = True) -> str:
    """What a program prints on Rushlight, with the device or without."""
    environment = SIMULATED if device else dict(os.environ)
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", *command],
        capture_output=True,
        text=True,
        timeout=400,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_char_gpt_reaches_the_same_losses(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("tqdm")
    text = tmp_path / "text.txt"
    text.write_text("def f(x):\n    return x + 1\n\n" * 400, encoding="utf-8")
    options = (
        "--steps 12 --dropout 0 --layers 2 --width 32 --context 16 --print-every 3 --sample 0"
        f" --text {text} --out {tmp_path}"
    ).split()
    here = examples.losses(run("examples/char_gpt.py", *options, device=False))
    there = examples.losses(run("examples/char_gpt.py", *options, "--device", "cuda"))
    assert there == pytest.approx(here, abs=2e-4) and len(here) > 4


def test_digits_reaches_the_same_losses(tmp_path: Path) -> None:
    for package in ("matplotlib", "tqdm", "sklearn"):
        pytest.importorskip(package)
    options = f"--epochs 2 --dropout 0 --out {tmp_path}".split()
    here = examples.losses(run("examples/digits.py", *options, device=False))
    there = examples.losses(run("examples/digits.py", *options, "--device", "cuda"))
    assert there == pytest.approx(here, abs=2e-3)


def test_the_guides_fragments_run(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    run("tests/guides/run_fragments.py", str(out))
    found = json.loads(out.read_text(encoding="utf-8"))
    # Without a device these end in PyTorch's errors of a build for CPUs; here they run.
    wanted = {name for name, (end, _) in found.items() if "CUDA" in RECORD.get(name, ("",))[0]}
    for name, (end, _) in found.items():
        theirs = RECORD.get(name, ("ok",))[0]
        assert end == "ok" or end.partition(":")[0] == theirs.partition(":")[0], (name, end)
    assert all(found[name][0] == "ok" for name in wanted) and len(found) > 80


DDP = """
import os, torch, torch.distributed as dist, torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo")
local = int(os.environ["LOCAL_RANK"])
device, ids = torch.device("cpu"), None
if torch.cuda.is_available():
    torch.cuda.set_device(local)
    device, ids = torch.device("cuda", local), [local]
torch.manual_seed(0)
model = DDP(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2)).to(device), device_ids=ids)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.arange(256.0).reshape(2, 16, 8).sin()[local]
for step in range(4):
    loss = nn.functional.cross_entropy(model(x.to(device)), (x.sum(1) > 0).long().to(device))
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    if local == 0: print(f"loss {mean.item():.5f}")
gathered = [torch.zeros(1, device=device) for _ in range(2)]
dist.all_gather(gathered, torch.tensor([float(local)], device=device))
assert [g.item() for g in gathered] == [0, 1] and gathered[0].device == device
dist.destroy_process_group()
"""


def test_ddp_with_nccl_reaches_the_losses_of_gloo(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    program, printed = tmp_path / "ddp.py", []
    program.write_text(DDP, encoding="utf-8")
    for setting in ("", "simulated:2x1GB"):
        done = subprocess.run(
            [sys.executable, "-m", "rushlight.distributed.run", "--nproc_per_node=2", str(program)],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "RUSHLIGHT_CUDA": setting},
            cwd=ROOT,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        printed.append(sorted(line for line in done.stdout.splitlines() if line.startswith("loss")))
    assert printed[0] == printed[1] and len(printed[0]) == 4


def _losses(model: Any, x: Any, y: Any, where: str) -> list[float]:
    """The losses of five steps of a model on a device."""
    model = model.to(where)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    found = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x.to(where)), y.to(where))
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


class Reader(torch.nn.Module):
    """A classifier of sequences by an LSTM of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = torch.nn.LSTM(6, 12, 2, batch_first=True), torch.nn.Linear(12, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.lstm(x)[0]
        found: torch.Tensor = self.head(states[:, -1])
        return found


def _pictures() -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(2, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["LSTM", "CNN"])
def test_models_reach_the_cpus_losses(name: str) -> None:
    make, shape = {"LSTM": (Reader, (4, 7, 6)), "CNN": (_pictures, (4, 2, 10, 10))}[name]
    x, y, found = torch.randn(*shape), torch.tensor([0, 1, 2, 1]), []
    for where in ("cpu", "cuda"):
        torch.manual_seed(1)
        found.append(_losses(make(), x, y, where))
    assert found[1] == pytest.approx(found[0], abs=1e-5) and found[0][-1] < found[0][0]


@pytest.mark.devices("simulated:4GB")
def test_the_simulation_is_fast_enough_to_work_with() -> None:
    """A step of a char_gpt takes at most 15 times the CPU's processor time; the least of a few rounds."""
    steps, least = [], [float("inf")] * 2
    for where in ("cpu", "cuda"):
        torch.manual_seed(0)
        model = GPT(65, 32, 64, 2, 4).to(where)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        ids = (torch.arange(8 * 32).reshape(8, 32) % 65).to(where)

        def step(model: Any = model, optimizer: Any = optimizer, ids: Any = ids) -> float:
            optimizer.zero_grad()
            loss = model(ids, ids)
            loss.backward()
            optimizer.step()
            return float(loss.item())

        steps.append(step)
    for _ in range(6):
        for k, step in enumerate(steps):
            began = time.process_time()
            step()
            least[k] = min(least[k], time.process_time() - began)
    assert least[1] < 15 * least[0]
