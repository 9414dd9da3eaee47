"""rushlight.Checkpoint: same bits when resumed, all or nothing on the disk, no pickle, clear errors."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from tests.checkpointing import run

# How often a run is killed; KILLS_IN_TESTS=50 for the long test.
KILLS = int(os.environ.get("KILLS_IN_TESTS", "3"))
STEPS = 12


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return run.train(tmp_path_factory.mktemp("whole"), STEPS)


class Interrupted(Exception):
    pass


def interrupted(directory, at):
    def stop(step):
        if step == at:
            raise Interrupted

    with pytest.raises(Interrupted):
        run.train(directory, STEPS, stop)


@pytest.mark.parametrize("at", [1, 5, 7])
def test_resumes_to_the_same_bits(tmp_path, expected, at):
    interrupted(tmp_path, at)
    torch.manual_seed(99)
    random.seed(99)
    np.random.seed(99)
    assert run.train(tmp_path, STEPS) == expected


def process(path, steps, **variables):
    return subprocess.Popen(
        [sys.executable, run.__file__, str(path), str(steps)],
        text=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
    )


@pytest.mark.parametrize("at", [4, 9])
def test_another_process_goes_on_to_the_same_bits(tmp_path, at):
    """With another cache, too: which kernels are machine code is no state of a run."""
    hot = {"RUSHLIGHT_HOT_CALLS": "3", "RUSHLIGHT_CACHE_DIR": str(tmp_path / "cache")}
    whole, first = (process(tmp_path / name, steps, **hot) for name, steps in (("a", STEPS), ("b", at)))
    expected, before = (p.communicate(timeout=120)[0].split()[-1] for p in (whole, first))
    resumed = process(tmp_path / "b", STEPS, RUSHLIGHT_CACHE="0")
    assert resumed.communicate(timeout=120)[0].split()[-1] == expected != before
    assert "kernels" not in run.build(tmp_path / "b")[0].read()


def test_killed_at_random_moments(tmp_path, expected):
    draw = random.Random(time.time_ns())
    killed, runs = 0, 0
    path = tmp_path
    while killed < KILLS:
        # A run that ended before it could be killed is over: the next begins anew.
        path, runs = tmp_path / str(runs), runs + 1
        while True:
            child = process(path, STEPS)
            assert child.stdout.readline() == "ready\n"
            first = child.stdout.readline()  # a step is done: from now on there is something to keep
            if len(first) > 60:
                assert first.strip() == expected
                break
            time.sleep(draw.uniform(0, 0.06))
            child.send_signal(signal.SIGKILL)
            rest = child.stdout.read()
            child.wait()
            if expected in rest:
                break
            killed += 1
            told = [int(line) for line in (first + rest).split()]
            assert run.build(path)[0].steps()[-1] >= told[-1]
            run.build(path)[0].read()
    assert run.train(path, STEPS) == expected


def parts():
    torch.manual_seed(1)
    model = nn.Linear(4, 3)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def snapshot(model, optimizer):
    return (
        [t.clone() for t in model.state_dict().values()],
        str(optimizer.state_dict()),
        torch.get_rng_state().tolist(),
        random.getstate(),
        str(np.random.get_state()),
    )


DAMAGE = {
    "tensors flipped": lambda d: flip(d / "tensors.safetensors", -3),
    "header flipped": lambda d: flip(d / "tensors.safetensors", 20),
    "tensors cut": lambda d: cut(d / "tensors.safetensors"),
    "tensors gone": lambda d: (d / "tensors.safetensors").unlink(),
    "state flipped": lambda d: flip(d / "state.jsonl", 200),
    "state cut": lambda d: cut(d / "state.jsonl"),
    "state empty": lambda d: (d / "state.jsonl").write_bytes(b""),
    "state no JSON": lambda d: (d / "state.jsonl").write_bytes(b"[]\n[]"),
    "state gone": lambda d: (d / "state.jsonl").unlink(),
}


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(data)


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_told_and_changes_nothing(tmp_path, damage):
    model, optimizer = parts()
    checkpoint = torch.Checkpoint(tmp_path, model=model, optimizer=optimizer)
    checkpoint.save(1)
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
    DAMAGE[damage](Path(checkpoint.save(2)))
    before = snapshot(model, optimizer)
    with pytest.raises(RuntimeError, match=r"step 2 in .* is damaged .*Other steps: \[1\]"):
        checkpoint.load()
    after = snapshot(model, optimizer)
    assert all(map(torch.equal, before[0], after[0])) and before[1:] == after[1:]
    assert checkpoint.load(1) == {"step": 1}


def test_a_state_that_does_not_fit_changes_nothing(tmp_path):
    model, optimizer = parts()
    torch.Checkpoint(tmp_path, model=model, optimizer=optimizer).save(1)
    other = nn.Linear(5, 3)
    with torch.no_grad():
        optimizer.param_groups[0]["lr"] = 7.0
    before = snapshot(other, optimizer)
    with pytest.raises(RuntimeError, match="size mismatch"):
        torch.Checkpoint(tmp_path, optimizer=optimizer, model=other).load()
    after = snapshot(other, optimizer)
    assert all(map(torch.equal, before[0], after[0])) and before[1:] == after[1:]
    with pytest.raises(RuntimeError, match="has no state of scheduler"):
        torch.Checkpoint(tmp_path, scheduler=other).load()


def test_keeps_the_newest(tmp_path):
    model, _ = parts()
    checkpoint = torch.Checkpoint(tmp_path, keep=2, model=model)
    for step in (1, 2, 30, 30, 4):
        checkpoint.save(step, of=step)
    assert checkpoint.steps() == [4, 30] and checkpoint.load(4)["of"] == 4
    assert sorted(os.listdir(tmp_path)) == ["step-0000000004", "step-0000000030.1"]
    with pytest.raises(FileNotFoundError, match="no step 2"):
        checkpoint.load(2)
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        torch.Checkpoint(tmp_path / "none").load()


def test_leftovers_go(tmp_path):
    (tmp_path / ".unfinished-1-ab").mkdir()
    torch.Checkpoint(tmp_path).save(3)
    assert os.listdir(tmp_path) == ["step-0000000003"]


VALUES = {
    "numbers": [1, -2.5, True, None, float("inf"), 1e-320, 2**80, 3 + 4j],
    "text": 'é\n"',
    "bytes": b"\0\xff",
    "nested": {"a": (1, [2, {3}]), 4: frozenset({5}), "$": "mine"},
    "dtype": torch.bfloat16,
    "device": torch.device("cpu"),
    "counter": Counter("aab"),
    "ordered": OrderedDict([("z", 1), ("a", 2)]),
    "array": np.arange(6, dtype=np.int16).reshape(2, 3),
    "scalar": np.float64(0.1),
}


def test_values_of_all_kinds(tmp_path):
    checkpoint = torch.Checkpoint(tmp_path)
    checkpoint.save(0, **VALUES)
    found = checkpoint.load()
    assert (found.pop("array") == VALUES["array"]).all()
    assert found == {"step": 0, **{k: v for k, v in VALUES.items() if k != "array"}}
    assert type(found["counter"]) is Counter and type(found["ordered"]) is OrderedDict
    with pytest.raises(TypeError, match="got function at 'values.what.0'"):
        checkpoint.save(1, what=[lambda: 0])
    assert checkpoint.steps() == [0] and os.listdir(tmp_path) == ["step-0000000000"]


@pytest.mark.parametrize(
    "of",
    [
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        "complex64",
        "complex128",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    ],
)
def test_every_dtype_to_the_bit(tmp_path, of):
    dtype = getattr(torch, of)
    values = [
        torch.randn(3, 5).mul(3).to(dtype),
        torch.zeros((), dtype=dtype),
        torch.ones((0, 4), dtype=dtype),
        torch.randn(4, 6).to(dtype).t()[1:],
    ]
    checkpoint = torch.Checkpoint(tmp_path)
    checkpoint.save(0, values=values)
    for mmap in (False, True):
        for kept, t in zip(checkpoint.read(mmap=mmap)["values"]["values"], values, strict=True):
            assert kept.dtype is dtype and kept.shape == t.shape
            assert kept._array.tobytes() == t._array.tobytes()


def test_tied_weights_are_kept_once(tmp_path):
    weight = torch.randn(64, 64)
    path = torch.Checkpoint(tmp_path).save(0, a=weight, b=[weight])
    assert os.path.getsize(os.path.join(path, "tensors.safetensors")) < 2 * weight.nbytes
    found = torch.Checkpoint(tmp_path).load()
    assert torch.equal(found["a"], weight) and found["a"].data_ptr() == found["b"][0].data_ptr()


def test_others_read_the_file(tmp_path):
    package = pytest.importorskip("safetensors.numpy")
    model, _ = parts()
    path = torch.Checkpoint(tmp_path, model=model).save(0)
    found = package.load_file(os.path.join(path, "tensors.safetensors"))
    assert (found["parts.model.weight"] == model.weight.detach().numpy()).all()
    lines = Path(path, "state.jsonl").read_text().splitlines()
    assert len(lines) == 2 and json.loads(lines[1])["tree"]["step"] == 0


def test_wrong_arguments():
    with pytest.raises(TypeError, match="expected model to have state_dict"):
        torch.Checkpoint("x", model=3)
    with pytest.raises(ValueError, match="keep"):
        torch.Checkpoint("x", keep=0)
