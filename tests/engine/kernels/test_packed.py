"""Machine code that comes with the package: found, of the same bits, and left alone where it is another's."""

import json
import os
import subprocess
import sys

import pytest

from rushlight._engine.kernels.emit import target

pytestmark = pytest.mark.skipif(not target.available() or not target.sets(), reason="no set of instructions")

PROGRAM = """
import json, sys
import rushlight as torch
from rushlight._engine.kernels.emit import target
from rushlight._engine.kernels.runtime import native, packed
folder, mode = sys.argv[1:]
packed.path = lambda of: f"{folder}/{of}.kernels"
made, assembled, code, assemble = {}, [], native._code, target.assemble

def noted(kind, text, make):
    made[kind, text] = found = code(kind, text, make)
    return found

def counted(*args, **how):
    assembled.append(1)
    return assemble(*args, **how)

native._code, target.assemble = noted, counted
x = torch.linspace(-2, 2, 1000)
found = [x.exp(), x.softmax(-1), torch.nn.functional.gelu(x), x.view(10, 100).var(0)]
if mode == "write":
    packed.write(packed.path(target.sets()[0]), made)
print(json.dumps([len(assembled), [f.numpy().tobytes().hex() for f in found], "llvmlite.binding" in sys.modules]))
"""


def run(folder, mode="read", **variables):
    """(how many were compiled, the bits of results, whether LLVM was loaded)."""
    environment = {**os.environ, "RUSHLIGHT_CACHE": "0", **variables}
    given = [sys.executable, "-c", PROGRAM, str(folder), mode]
    done = subprocess.run(given, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_package_brings_kernels(tmp_path):
    largest = target.sets()[0]
    compiled, bits, _ = run(tmp_path, "write", RUSHLIGHT_CPU=largest)
    assert compiled > 3
    # Nothing is compiled, nor LLVM loaded, and the bits are those of code for this very processor.
    assert run(tmp_path) == [0, bits, False]
    assert run(tmp_path, RUSHLIGHT_PACKED="0") == [compiled, bits, True]
    if len(target.sets()) > 1:  # what was made for more instructions is not for fewer
        assert run(tmp_path, RUSHLIGHT_CPU=target.sets()[1])[0] == compiled
    path = tmp_path / f"{largest}.kernels"
    path.write_bytes(b"\0" + path.read_bytes()[1:])  # as if other emitters had made it
    assert run(tmp_path) == [compiled, bits, True]
    path.write_bytes(b"")
    assert run(tmp_path)[:2] == [compiled, bits]
