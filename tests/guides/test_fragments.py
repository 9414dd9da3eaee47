"""The user guides' fragments end as they do under PyTorch, and print the same."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guides.run_fragments import fragments

HERE = Path(__file__).parent
RECORD = json.loads((HERE.parent / "goldens" / "guides.json").read_text(encoding="utf-8"))
# What may be missing, and how that is told. The fragments on ONNX were recorded with onnxscript installed,
# without which PyTorch raises ModuleNotFoundError.
MISSING = {"E memory history": "Torch not compiled with CUDA enabled"}
# Other packages: these depend on what is installed.
ELSEWHERE = {"B4 torchvision"}
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    out = tmp_path_factory.mktemp("guides") / "found.json"
    subprocess.run(
        [sys.executable, "-m", "rushlight", str(HERE / "run_fragments.py"), str(out)],
        check=True,
        timeout=300,
        cwd=HERE.parents[1],
    )
    return json.loads(out.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [n for n in fragments() if n not in ELSEWHERE])
def test_fragment(found, name):
    (end, printed), (their_end, theirs) = found[name], RECORD[name]
    if name in MISSING and MISSING[name] in end:
        return
    if their_end == "ok":
        assert end == "ok"
    else:  # ours say more
        assert end.partition(":")[0] == their_end.partition(":")[0]
        assert their_end.partition(": ")[2].rstrip(".") in end.partition(": ")[2]
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", theirs)
    ours, wanted = ([float(n) for n in NUMBER.findall(text)] for text in (printed, theirs))
    assert ours == pytest.approx(wanted, rel=2e-3, abs=2e-4)
