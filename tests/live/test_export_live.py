"""torch.fx, torch.export and torch.onnx beside PyTorch: the same texts, files that each reads from the other."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

import rushlight
from tests.export import programs as exported
from tests.fx import programs as traced

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("programs", [traced, exported])
def test_texts(programs):
    import torch.fx

    ours, theirs = programs.texts(rushlight), programs.texts(torch)
    assert ours.keys() == theirs.keys()
    for name, text in theirs.items():
        assert ours[name] == text, name


def _same(ours, theirs):
    from torch.utils._pytree import tree_flatten

    from rushlight._engine.core.pytree import flatten

    for a, b in zip(flatten(ours)[0], tree_flatten(theirs)[0], strict=True):
        if isinstance(b, torch.Tensor):
            torch.testing.assert_close(torch.from_numpy(a.detach().numpy()), b.detach())
        else:
            assert a == b


@pytest.mark.parametrize("name", [n for n in exported.modules(rushlight) if n != "cnn train"])
def test_files(name):
    for writer, reader in ((rushlight, torch), (torch, rushlight)):
        mod, args, kwargs, shapes = exported.modules(writer)[name]
        file = io.BytesIO()
        program = writer.export.export(mod, args, kwargs, dynamic_shapes=shapes)
        writer.export.save(program, file)
        file.seek(0)
        read = reader.export.load(file)
        given = exported.modules(reader)[name]
        results = {writer: program.module()(*args, **kwargs), reader: read.module()(*given[1], **given[2])}
        _same(results[rushlight], results[torch])
        assert [n.name for n in read.graph.nodes] == [n.name for n in program.graph.nodes]


def test_programs_run_under_both():
    code = (
        "import torch, torch.fx as fx, torch.export, torch.onnx, torch.fx.experimental.symbolic_shapes\n"
        "from torch.fx.passes.shape_prop import ShapeProp\n"
        "import torch._dynamo.exc as exc\n"
        "from torch.export import export, Dim\n"
        "import json\n"
        "found = []\n"
        "class M(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x if x.sum() > 0 else -x\n"
        "for call in (lambda: export(M(), (torch.ones(2),)), lambda: export(1, ()), lambda: export(M(), 1),\n"
        "             lambda: Dim('b', min=3, max=2), lambda: Dim('b c'), lambda: Dim('b') * -1,\n"
        "             lambda: export(torch.nn.ReLU(), (torch.ones(2),))(torch.ones(2)),\n"
        "             lambda: torch.export.save(1, 'x.pt2'), lambda: fx.symbolic_trace(lambda x: len(x)),\n"
        "             lambda: export(torch.nn.ReLU(), (torch.ones(2),)).module().eval(),\n"
        "             lambda: export(torch.nn.ReLU(), (torch.ones(2),), dynamic_shapes={'y': None})):\n"
        "    try:\n"
        "        call()\n"
        "    except Exception as error:\n"
        "        found.append([type(error).__name__, str(error)[:45]])\n"
        "print('FOUND', json.dumps(found))\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-W", "ignore", *how, code], capture_output=True, text=True, timeout=120
        )
        for how in (["-m", "rushlight", "-c"], ["-c"])
    ]
    ours, theirs = [json.loads(r.stdout.rpartition("FOUND ")[2]) for r in runs]
    assert ours == theirs
