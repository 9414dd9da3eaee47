"""Parts of graph modules, nodes and interpreters that programs call or override."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight as torch
from rushlight import fx, nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.act = nn.Linear(2, 3), nn.ReLU()
        self.scale = nn.Parameter(torch.full((3,), 2.0))
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: Any) -> Any:
        return self.act(self.linear(x)) * self.scale + self.shift


def test_to_folder(tmp_path: Path) -> None:
    """The folder is a package whose class does the same, with the same state, in a program of its own."""
    module, x = fx.symbolic_trace(Model()), torch.randn(4, 2)
    with pytest.warns(UserWarning, match=r"saved as pickled files instead: \['act'\]"):
        module.to_folder(tmp_path / "written", "Written")
    torch.save((x, module(x)), tmp_path / "case.pt")
    (tmp_path / "program.py").write_text(
        "import torch\nfrom written import Written\n"
        "x, wanted = torch.load('case.pt')\nassert torch.equal(Written()(x), wanted)\n"
    )
    root = str(Path(torch.__file__).parents[1])
    command = [sys.executable, "-m", "rushlight", "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, env={**os.environ, "PYTHONPATH": root})


def test_rename() -> None:
    """A node gets the name, or one like it that is free."""
    module = fx.symbolic_trace(Model())
    first, second = [node for node in module.graph.nodes if node.op == "call_function"]
    first._rename("scaled")
    second._rename("scaled")
    assert (first.name, second.name) == ("scaled", "scaled_1")
    module.graph.lint()
    module.recompile()
    assert "scaled_1 = scaled + shift" in module.code


def test_boxed_run() -> None:
    """The list is emptied; RuntimeError for another number of inputs."""
    module, x = fx.symbolic_trace(Model()), torch.randn(4, 2)
    inputs = [x]
    assert torch.equal(fx.Interpreter(module).boxed_run(inputs), module(x))
    assert inputs == []
    with pytest.raises(RuntimeError, match=r"expected 1 arguments .* received 2 \(extra arguments\)"):
        fx.Interpreter(module).boxed_run([x, x])


def test_deepcopy_init() -> None:
    """A subclass whose __init__ differs names the one that makes copies."""
    seen: list[Any] = []

    class Own(fx.GraphModule):
        def __init__(self, root: Any) -> None:
            super().__init__(root, fx.Tracer().trace(root))

        def _deepcopy_init(self) -> Any:
            seen.append(self)
            return fx.GraphModule.__init__

    module = Own(Model())
    x = torch.randn(4, 2)
    assert torch.equal(copy.deepcopy(module)(x), module(x)) and len(seen) == 1
