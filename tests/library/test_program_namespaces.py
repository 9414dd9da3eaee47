"""Namespaces of ops that were only there to be imported, before and after somebody defines ops in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import importlib
import sys
import torch

importlib.import_module("torch.ops._c10d_functional")
library = torch.library.Library("_c10d_functional", "FRAGMENT")
library.define("of_this_test(Tensor x) -> Tensor")
library.impl("of_this_test", lambda x: x + 1, "CPU")
print(torch.ops._c10d_functional.of_this_test(torch.ones(2)).tolist())
for name in [name for name in sys.modules if name.endswith("ops._c10d_functional")]:
    del sys.modules[name]
importlib.import_module("torch.ops._c10d_functional")
print(torch.ops._c10d_functional.of_this_test(torch.ones(2)).tolist())
"""


def test_ops_are_found_whatever_was_imported(tmp_path: Path) -> None:
    """The stand-in gives way to the ops, and does not come back."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", str(program)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split("\n")[:2] == ["[2.0, 2.0]", "[2.0, 2.0]"], done.stderr
