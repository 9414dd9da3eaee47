"""Compiled steps in several processes that share a cache, and on several threads."""

import os
import subprocess
import sys

import pytest

from rushlight._engine.kernels.emit import target

STEP = """
import hashlib, sys
import rushlight as torch
from rushlight import nn
from rushlight._engine.kernels.emit import target
made, assemble = [], target.assemble
target.assemble = lambda *given, **how: made.append(1) or assemble(*given, **how)
torch.set_num_threads(int(sys.argv[1]))
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(50, 300), nn.GELU(), nn.LayerNorm(300), nn.Dropout(0.1), nn.Linear(300, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

def step(x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss
run = torch.compile(step, mode="reduce-overhead")
for _ in range(6):
    run(torch.randn(400, 50), torch.randint(10, (400,)))
plan = next(iter(run._runner.plans.values()))
assert plan.replays == 3, plan.refusal
digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
print(digest.hexdigest(), len(made))
"""


def start(directory, threads):
    environment = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(directory), "RUSHLIGHT_VERIFY": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", STEP, str(threads)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )


def answer(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.split()


def test_steps_that_are_compiled_at_once_share_a_cache_and_bits(tmp_path):
    if not target.available():
        pytest.skip("no compiler")
    both = [start(tmp_path, threads) for threads in (1, 2)]
    found = [answer(process) for process in both]
    assert found[0][0] == found[1][0] and int(found[0][1]) > 5
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".new")]
    files = sorted(tmp_path.iterdir())
    for k, file in enumerate(files):  # damaged, another's, or not ours
        file.write_bytes([file.read_bytes()[:-1] + b"?", files[k - 1].read_bytes(), b"\x7fELF", b""][k % 4])
    digest, made = answer(start(tmp_path, 3))
    assert digest == found[0][0] and int(made) > 5
    assert answer(start(tmp_path, 3)) == [digest, "0"]


EMPTY = """
import rushlight as torch
from rushlight import nn
model = nn.Sequential(nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

@torch.compile
def step(x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
for _ in range(6):
    step(torch.randn(16, 20), torch.randint(2, (16,)))
plan = next(iter(step._runner.plans.values()))
assert plan.replays == 3, plan.refusal
"""


def test_what_the_compiler_does_is_no_effect_of_the_call_in_which_it_loads(tmp_path):
    if not target.available():
        pytest.skip("no compiler")
    environment = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", EMPTY], env=environment, check=True, timeout=300)
