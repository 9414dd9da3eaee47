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


class Sum(nn.Module):
    def forward(self, a: Any, b: int = 3, *args: Any, c: Any = None) -> Any:
        return a + b


class Two(nn.Module):
    def forward(self, a: Any, b: Any) -> Any:
        return a + b


class Any2(nn.Module):
    def forward(self, *args: Any) -> Any:
        return args[0] + args[1]


def test_inputs_of_a_trace() -> None:
    """create_args_for_root makes a trace's inputs, each by _proxy_placeholder."""
    names: list[str] = []

    class Own(fx.Tracer):
        def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> Any:
            fn, args = super().create_args_for_root(root_fn, is_module, concrete_args)
            for proxy in args[1:]:
                proxy.node.meta["seen"] = True
            return fn, args

        def _proxy_placeholder(self, name: str, concrete_args: Any, sig: Any, fn_for_analysis: Any) -> Any:
            names.append(name)
            return super()._proxy_placeholder(name, concrete_args, sig, fn_for_analysis)

    graph = Own().trace(Sum())
    assert names == ["a", "b", "c", "*args"]
    assert [bool(node.meta.get("seen")) for node in graph.nodes] == [True] * 4 + [False] * 2


def test_concrete_args_by_place() -> None:
    """A tuple gives the values of all arguments."""
    x = torch.ones(2)
    assert fx.symbolic_trace(Two(), (fx.PH, 2))(x, 2).tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="Tracing expected 2 arguments but got 1 concrete arguments"):
        fx.symbolic_trace(Two(), (2,))
    assert [n.name for n in fx.Tracer().trace(Any2(), (1, 2)).nodes][:2] == ["input_0", "input_1"]


def test_fresh_names() -> None:
    """The first name with this beginning that the root has not."""
    tracer = fx.Tracer()
    tracer.root = nn.Module()
    tracer.root.x0 = 1
    assert (tracer.get_fresh_qualname("x"), tracer.get_fresh_qualname("y")) == ("x1", "y0")
