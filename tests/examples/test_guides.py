"""The programs that the user guides ask for, run as a user would run them."""

from __future__ import annotations

import gzip
import re
import struct
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "goldens"))
import record_examples as examples  # noqa: E402


def run(name, *options):
    return examples.run([sys.executable, "-m", "rushlight", str(examples.EXAMPLES / name), *options])


def test_learning_rate_range(tmp_path):
    options = []
    if find_spec("matplotlib"):
        options = ["--plot", str(tmp_path / "range.png")]
    printed = run("lr_range_test.py", *options)
    rates = [float(rate) for rate in re.findall(r"rate (\S+) loss", printed)]
    assert rates[0] == 1e-6 and rates == sorted(rates)
    assert 1e-3 < float(printed.split("suggested rate ")[1].split()[0]) < 1
    if options:
        assert (tmp_path / "range.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_gradient_norms(tmp_path):
    printed = run("gradient_norms.py", "--epochs", "10", "--logs", str(tmp_path))
    first = {
        line[:15].strip(): float(line.split("first norm ")[1].split()[0]) for line in printed.splitlines()
    }
    assert first["xavier uniform"] < first["kaiming normal"] < 1e4 < 1e12 < first["all ones"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all_ones", "kaiming_normal", "xavier_uniform"]


def test_workers_in_parallel():
    pytest.importorskip("mpi4py")
    printed = run("data_parallel.py", "--steps", "2", "--width", "16", "--batch", "8")
    assert re.findall(r"^\w+ \w+", printed, re.MULTILINE) == ["one process", "1 workers", "2 workers"]
    assert (
        len(set(examples.losses(printed))) == 1
    )  # the workers' batches are the same, so are their gradients


def test_gated_linear_unit():
    printed = run("gated_linear_unit.py")
    norms = [float(n) for n in re.findall(r"gradient of norm (\S+)", printed)]
    assert len(norms) == 6 and min(norms) > 0 and "as F.glu: True" in printed
    losses = examples.losses(printed)
    assert losses[-1] < losses[0] / 3


def test_custom_gelu():
    printed = run("custom_gelu.py")
    assert "gradcheck True" in printed and "gradgradcheck True" in printed
    exact, close = (float(line.split()[-1]) for line in printed.splitlines()[-2:])
    assert exact < 1e-14 and close < 1e-2


def test_fashion_mnist(tmp_path):
    out = tmp_path / "c.pth"
    printed = run("fashion_mnist.py", "--epochs", "1", "--hidden", "128", "--out", str(out))
    assert float(re.search(r"one batch: loss (\S+)", printed)[1]) < 0.2
    assert float(printed.split("test accuracy ")[1]) > 0.5 and out.exists()


def test_fashion_mnist_reads_the_files_as_distributed(tmp_path):
    draw = np.random.default_rng(0)
    for kind, count in (("train", 200), ("t10k", 50)):
        labels = draw.integers(10, size=count, dtype=np.uint8)
        images = np.zeros((count, 28, 28), np.uint8)
        images[np.arange(count), labels * 2] = 255
        for part, array in (("images-idx3", images), ("labels-idx1", labels)):
            head = struct.pack(f">BBBB{array.ndim}i", 0, 0, 8, array.ndim, *array.shape)
            (tmp_path / f"{kind}-{part}-ubyte.gz").write_bytes(gzip.compress(head + array.tobytes()))
    printed = run(
        "fashion_mnist.py",
        "--data",
        str(tmp_path),
        "--epochs",
        "8",
        "--hidden",
        "32",
        "--out",
        str(tmp_path / "c.pth"),
    )
    assert float(printed.split("test accuracy ")[1]) > 0.5


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_plain_pytorch(path):
    text = path.read_text(encoding="utf-8")
    assert "import torch\n" in text and "import rushlight" not in text
