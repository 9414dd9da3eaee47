"""A run that is stopped and goes on from torch.save, in another process, ends on the bits of one that was not."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, sys
import rushlight as torch
nn, (mode, path) = torch.nn, sys.argv[1:]
torch.use_deterministic_algorithms(True)
torch.manual_seed(0)
layers = [nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Dropout(0.1), nn.Linear(64, 3)]
model = nn.Sequential(*layers)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 200)
parts, first = {"model": model, "optimizer": optimizer, "scheduler": scheduler}, 0
x, y = torch.randn(64, 20), torch.randint(0, 3, (64,))
if mode == "resume":
    kept = torch.load(path)
    for name, part in parts.items():
        part.load_state_dict(kept[name])
    torch.set_rng_state(kept["random"])
    first = kept["step"]
for step in range(first, 60):
    if step == 25 and mode == "whole":
        kept = {name: part.state_dict() for name, part in parts.items()}
        torch.save({**kept, "random": torch.get_rng_state(), "step": step}, path)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    scheduler.step()
print(hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())
"""


def run(mode, path, **variables):
    environment = {**os.environ, **variables}
    given = [sys.executable, "-c", PROGRAM, mode, str(path)]
    found = subprocess.run(given, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.parametrize("kernels", ["auto", "numpy"])
def test_a_resumed_run_ends_on_the_same_bits(tmp_path, kernels):
    path, cache = tmp_path / "run.pt", {"RUSHLIGHT_CACHE_DIR": str(tmp_path), "RUSHLIGHT_KERNELS": kernels}
    whole = run("whole", path, **cache)
    assert run("resume", path, **cache) == whole
    other = {"RUSHLIGHT_CACHE": "0", "RUSHLIGHT_NUM_THREADS": "1", "RUSHLIGHT_KERNELS": kernels}
    assert run("resume", path, **other) == whole
