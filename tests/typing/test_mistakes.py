"""A checker reports planted mistakes, and nothing where there is none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import typecheck  # noqa: E402

HEAD = """\
from collections.abc import Callable
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset
x: Tensor = torch.randn(2, 3)
layer = nn.Linear(2, 3)
optimizer = torch.optim.Adam(layer.parameters(), lr=1e-3)
class Words(Dataset[str]):
    def __len__(self) -> int: return 3
    def __getitem__(self, index: int) -> str: return "word"
class Scaled(nn.Linear):
    def forward(self, input: Tensor, scale: float = 1.0) -> Tensor: return super().forward(input) * scale
"""
RIGHT = """\
y: Tensor = torch.zeros(2, 3, dtype=torch.float32) + x * 2 - 1.5
z: Tensor = torch.cat([x, y], dim=1).relu().sum(dim=0, keepdim=True)
total: Tensor = torch.max(x)
values, indices = torch.max(x, dim=1)
largest: Tensor = torch.max(x, y).max(x)
parts: tuple[Tensor, ...] = x.split(1)
loss: Tensor = F.cross_entropy(layer(x), torch.tensor([0, 1]))
number: float = loss.item() if isinstance(loss.item(), float) else 0.0
shape: torch.Size = x.shape
rows: int = x.shape[0]
longer: torch.Size = x.shape[1:] + (2,)
mean: Tensor = torch.distributions.Normal(0.0, 1.0).mean
kind: torch.dtype = x.dtype
where: torch.device = x.device
names: list[str] = [word for batch in DataLoader(Words(), batch_size=2) for word in batch]
net: Tensor = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))(x)
weight: nn.Parameter = layer.weight
found: Tensor = torch.stack(list(layer.parameters()))
counts: Tensor = x.long().repeat_interleave(torch.tensor([1, 2]), dim=0)
steps: Tensor = torch.arange(3) + torch.arange(0, 3, 1)
drawn: Tensor = torch.randint(10, (2,)) + torch.randint(0, 10, (2,))
chosen: Tensor = torch.where(x > 0, x, 0.0)
optimizer.zero_grad(set_to_none=True); optimizer.step()
scaled: Tensor = Scaled(2, 3)(x, scale=2.0)
pieces: tuple[Tensor, ...] = x.split(split_size=1, dim=1)
activation: Callable[[Tensor], Tensor] = nn.ReLU()
memory: int = torch.cuda.max_memory_allocated()
with torch.cuda.stream(torch.cuda.Stream()): torch.cuda.Event(enable_timing=True).record()
faster: nn.Linear = torch.compile(layer)
"""
WRONG = """\
torch.zeros(2, 3, dtyp=torch.float32)
torch.zeros("2")
torch.rellu(x)
x.rellu()
count: int = torch.sum(x)
nn.Linear("2", 3)
nn.Linear(2, 3, biass=True)
layer(x, mask=None)
F.relu("x")
torch.optim.Adam(layer.parameters(), learning_rate=1e-3)
torch.optim.Addam(layer.parameters())
nn.Conv2d(3)
size: str = x.shape
columns: str = x.shape[1]
sampled: str = torch.distributions.Normal(0.0, 1.0).rsample()
x.view("3")
torch.max(x, dim="0")
x.sum(dim="0")
kind2: torch.dtype = "float32"
torch.cat(x)
value: str = layer(x)
DataLoader(Words(), batch_sise=3)
x.to(torch.float31)
x.backward(retain_graf=True)
F.cross_entropy(x, x, reduction=3)
torch.manual_seed("0")
nn.Dropout("half")
Scaled(2, 3)(x, scales=2.0)
torch.cuda.set_device(device=0, index=1)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    """mypy's errors, by program and line of its text; one run for both, since most of it is to read the stubs."""
    folder = tmp_path_factory.mktemp("programs")
    programs = {"right.py": RIGHT, "wrong.py": WRONG}
    for name, text in programs.items():
        (folder / name).write_text(HEAD + text)
    typecheck.stand_in(folder / "types")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", os.devnull, "--ignore-missing-imports",
         "--follow-imports", "silent", "--cache-dir", str(folder / "cache"), *programs],
        capture_output=True, text=True, timeout=600, cwd=folder,
        env={**os.environ, "MYPYPATH": os.pathsep.join([str(folder / "types"), str(ROOT)])},
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    told = re.findall(r"(\w+\.py):(\d+): error: (.*)", done.stdout)
    return {
        name: {int(line) - HEAD.count("\n"): message for file, line, message in told if file == name}
        for name in programs
    }


def test_what_is_right_is_taken(found: dict[str, dict[int, str]]) -> None:
    assert found["right.py"] == {}


def test_mistakes_are_reported(found: dict[str, dict[int, str]]) -> None:
    missed = [text for line, text in enumerate(WRONG.splitlines(), 1) if line not in found["wrong.py"]]
    assert missed == []
