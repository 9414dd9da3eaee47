"""torch.export.save and load: programs come back the same; damaged and forged files are refused."""

from __future__ import annotations

import dataclasses
import io
import json
import random
import zipfile

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.pytree import flatten
from rushlight.export import Dim, export, load, save
from tests.export import programs


@pytest.mark.parametrize("name", programs.modules(torch))
def test_round_trip(name, tmp_path):
    mod, args, kwargs, shapes = programs.modules(torch)[name]
    ep = export(mod, args, kwargs, dynamic_shapes=shapes)
    save(ep, tmp_path / "m.pt2", extra_files={"note.txt": "hello"})
    extra = {"note.txt": ""}
    again = load(str(tmp_path / "m.pt2"), extra_files=extra)
    assert str(again) == str(ep) and extra == {"note.txt": "hello"}
    torch.manual_seed(0)
    ours = flatten(again.module()(*args, **kwargs))
    torch.manual_seed(0)
    theirs = flatten(ep.module()(*args, **kwargs))
    assert ours[1] == theirs[1]
    for a, b in zip(ours[0], theirs[0], strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_tied_weights_stay_tied():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    file = io.BytesIO()
    save(export(model, (torch.ones(1, 2),)), file)
    state = load(file).state_dict
    assert state["0.weight"] is state["1.weight"] and isinstance(state["0.weight"], nn.Parameter)


def test_only_programs_are_saved(tmp_path):
    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram'"):
        save(nn.Linear(2, 2), tmp_path / "m.pt2")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.pt2")
    (tmp_path / "text.pt2").write_text("no zip")
    with pytest.raises(RuntimeError, match="damaged"):
        load(tmp_path / "text.pt2")


@pytest.fixture(scope="module")
def parts():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 2)).eval()
    file = io.BytesIO()
    save(export(model, (torch.ones(2, 3, 8, 8),), dynamic_shapes=({0: Dim("b", max=9)},)), file)
    with zipfile.ZipFile(file) as archive:
        return file.getvalue(), {name: archive.read(name) for name in archive.namelist()}


def test_flipped_bytes_are_refused_or_harmless(parts):
    data, draw = parts[0], random.Random(0)
    for _ in range(150):
        mutated = bytearray(data)
        mutated[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        try:
            load(io.BytesIO(bytes(mutated)))
        except RuntimeError:
            continue
    with pytest.raises(RuntimeError):
        load(io.BytesIO(data[:-200]))


@pytest.mark.parametrize("part", ["models/model.json", "data/weights/model_weights_config.json"])
def test_forged_descriptions_raise_nothing_else(parts, part):
    held, draw = parts[1], random.Random(1)
    name = next(n for n in held if n.endswith(part))
    paths = [p for p in _paths(json.loads(held[name])) if p]
    for _ in range(250):
        told = json.loads(held[name])
        *path, last = draw.choice(paths)
        inner = told
        for key in path:
            inner = inner[key]
        inner[last] = draw.choice(
            [None, "x); import os; (", "import", -5, 2**70, [], {}, {"as_int": 3}, 1e30, True]
        )
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for n, content in held.items():
                archive.writestr(n, json.dumps(told) if n == name else content)
        try:
            load(file)
        except RuntimeError as error:
            assert "damaged" in str(error)


@pytest.mark.parametrize(
    "target", ["torch.ops.aten.system.default", "_operator.attrgetter", "os.system", "builtins.eval"]
)
def test_only_ops_are_called(parts, target):
    held = parts[1]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for n, content in held.items():
            archive.writestr(n, content.replace(b"torch.ops.aten.linear.default", target.encode()))
    with pytest.raises(RuntimeError, match="holds no exported program"):
        load(file)


def _paths(tree, path=()):
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))


@dataclasses.dataclass
class Pair:
    """A container that a program registers."""

    one: torch.Tensor
    several: list[torch.Tensor]


def test_sample_inputs_of_registered_classes() -> None:
    class Sum(torch.nn.Module):
        def forward(self, pair: Pair) -> torch.Tensor:
            return pair.one + pair.several[0]

    torch.export.register_dataclass(Pair, serialized_type_name="tests.export.Pair")
    made, file = torch.export.export(Sum(), (Pair(torch.ones(2), [torch.ones(2)]),)), io.BytesIO()
    torch.export.save(made, file)
    file.seek(0)
    again = torch.export.load(file)
    assert again.example_inputs[0][0].several[0].equal(torch.ones(2))
    assert again.module()(*again.example_inputs[0]).equal(torch.full((2,), 2.0))
