"""Under the launcher, classes and functions say PyTorch's names: to repr, inspect and pickle, both ways."""

from __future__ import annotations

from pathlib import Path

from tests.launcher.test_launcher import run, write

GOLDENS = Path(__file__).parents[1] / "goldens"


def test_classes(tmp_path: Path) -> None:
    """Each class of the recorded list says PyTorch's module and name, is found there, and pickles by it."""
    code = """
        import importlib, inspect, pickle, sys, warnings
        warnings.simplefilter("ignore")
        wrong = []
        for line in open(sys.argv[1], encoding="utf-8"):
            public, module, qualname = line.rstrip("\\n").split("\\t")
            where, _, name = public.rpartition(".")
            cls = getattr(importlib.import_module(where), name)
            said = cls.__module__, cls.__qualname__
            if said != (module, qualname):
                wrong.append((public, said))
            elif inspect.getmodule(cls) is not importlib.import_module(module):
                wrong.append((public, "inspect.getmodule"))
            elif pickle.loads(pickle.dumps(cls)) is not cls:
                wrong.append((public, "pickle"))
        print(wrong)
    """
    done = run(write(tmp_path / "p.py", code), str(GOLDENS / "class_names.tsv"), cwd=tmp_path)
    assert done.stdout == "[]\n", done.stderr + done.stdout


def test_pickles_of_pytorch(tmp_path: Path) -> None:
    """What Python's pickle wrote of PyTorch's objects is read, and is what the same expression makes."""
    code = """
        import base64, json, pickle, sys
        import torch, torch.nn.functional as F
        from torch import nn
        wrong = []
        torch.manual_seed(0)
        for text, data in json.load(open(sys.argv[1])).items():
            made, read = eval(text), pickle.loads(base64.b64decode(data))
            if type(made) is not type(read) and not callable(made):
                wrong.append((text, type(read)))
            parts = isinstance(made, nn.Module)
            for a, b in zip(made.parameters(), read.parameters()) if parts else ((made, read),):
                if isinstance(a, torch.Tensor) and not (torch.equal(a, b) and a.stride() == b.stride()):
                    wrong.append((text, b))
        print(wrong)
    """
    done = run(write(tmp_path / "p.py", code), str(GOLDENS / "plain_pickles.json"), cwd=tmp_path)
    assert done.stdout == "[]\n", done.stderr + done.stdout


def test_pickles_for_pytorch(tmp_path: Path) -> None:
    """What Python's pickle writes names nothing that only Rushlight has."""
    code = """
        import json, pickle, pickletools, sys
        import torch, torch.nn.functional as F
        from torch import nn
        for text in json.load(open(sys.argv[1])):
            for protocol in (0, 2, 4, 5):
                data = pickle.dumps(eval(text), protocol)
                assert b"rushlight" not in data, text
                pickle.loads(data)
        print("read")
    """
    done = run(write(tmp_path / "p.py", code), str(GOLDENS / "plain_pickles.json"), cwd=tmp_path)
    assert done.stdout == "read\n", done.stderr


def test_modules_have_both_names(tmp_path: Path) -> None:
    """A module is one under both names, whichever was imported first, and a failed import leaves neither."""
    code = """
        import sys, threading
        import torch
        import rushlight.nn.modules.linear as ours
        assert sys.modules["torch.nn.modules.linear"] is ours and ours.__name__ == "torch.nn.modules.linear"
        import torch.optim.adamw
        assert torch.optim.adamw.AdamW is torch.optim.AdamW
        assert torch.autograd.function.Function is torch.autograd.Function
        assert not [name for name in sys.modules if name.startswith("torch._engine")]
        class Mine(torch.nn.Linear): pass
        assert Mine.__module__ == "__main__"
        found = []
        def ask(): found.append(__import__("torch.fx.graph", fromlist=["Graph"]).Graph)
        threads = [threading.Thread(target=ask) for _ in range(4)]
        [t.start() for t in threads], [t.join() for t in threads]
        assert len(set(found)) == 1 and len(found) == 4
        print("one")
    """
    done = run(write(tmp_path / "p.py", code), cwd=tmp_path)
    assert done.stdout == "one\n", done.stderr


def test_modules(tmp_path: Path) -> None:
    """Each file of the public storey is what its torch name imports, whichever was imported before."""
    code = """
        import os, sys, warnings
        warnings.simplefilter("ignore")
        import torch
        root, wrong = os.path.dirname(torch.__file__), []
        own = ("_engine", "_torch_dispatch", "as_torch", "functorch", "launcher", "__main__", "__pycache__")
        for folder, _, files in os.walk(root):
            for file in files:
                path = os.path.relpath(os.path.join(folder, file), root)
                if not file.endswith(".py") or path.removesuffix(".py").split(os.sep)[0] in own:
                    continue
                name = "torch." + path.removesuffix(".py").replace(os.sep, ".").removesuffix(".__init__")
                if name.endswith("__"):
                    continue
                try:
                    exec(f"import {name} as _")
                except BaseException as error:
                    wrong.append((name, repr(error)))
                    continue
                found = sys.modules[name].__file__  # a function may have the module's name
                if not found or not found.endswith(path):
                    wrong.append((name, found))
        print(wrong)
    """
    done = run(write(tmp_path / "p.py", code), cwd=tmp_path)
    assert done.stdout == "[]\n", done.stderr + done.stdout


def test_functorch_is_a_package_beside_torch(tmp_path: Path) -> None:
    """It keeps its name where the framework's own modules have been loaded by torch's."""
    code = """
        import torch._higher_order_ops.map
        from functorch.experimental import control_flow
        print(control_flow.__name__)
    """
    done = run(write(tmp_path / "p.py", code), cwd=tmp_path)
    assert done.stdout == "functorch.experimental.control_flow\n", done.stderr


def test_a_module_of_the_same_name_is_found(tmp_path: Path) -> None:
    """What Dim's classes say is their module is the module that has the other names, too."""
    code = """
        import torch.export
        from torch.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes
        print(torch.export.Dim.__module__, torch.export.dynamic_shapes.Dim is torch.export.Dim)
    """
    done = run(write(tmp_path / "p.py", code), cwd=tmp_path)
    assert done.stdout == "torch.export.dynamic_shapes True\n", done.stderr
