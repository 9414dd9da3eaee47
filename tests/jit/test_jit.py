"""TorchScript without PyTorch: the language, training, archives, traces, and files that mean harm."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import warnings
import zipfile
from typing import NamedTuple

import pytest

import rushlight as torch
from rushlight import nn


@torch.jit.script
def branches(x, n: int, y: torch.Tensor | None = None):
    if y is not None:
        x = x + y
    if n == 3:
        return x
    for i in range(n):
        if i == 2:
            return x + i
        if i > 5:
            break
    return x * 2


@torch.jit.script
def containers(x: list[int], d: dict[str, int]) -> tuple[list[int], int, str]:
    out = [i * 2 for i in x]
    out.append(7 // 2)
    for _, v in d.items():
        out[0] += v
    total = 0
    i = 0
    while True:
        i += 1
        if i % 2 == 0:
            continue
        total += i
        if total > 10:
            break
    return out, total, f"{len(out)} of {x}"


def test_early_returns_and_refinement():
    x = torch.ones(2)
    assert branches(x, 3).tolist() == [1, 1] and branches(x, 5).tolist() == [3, 3]
    assert branches(x, 1).tolist() == [2, 2] and branches(x, n=1, y=x).tolist() == [4, 4]


def test_containers():
    assert containers([1, 2], {"a": 5}) == ([7, 4, 3], 16, "3 of [1, 2]")


class Net(nn.Module):
    scale: torch.jit.Final[int] = 2

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.norm, self.act = nn.BatchNorm1d(4), torch.nn.functional.relu
        self.calls = 0
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = self.act(layer(x)) * self.scale + i
        self.calls += 1
        return self.norm(x) + self.shift + self.extra(x)

    @torch.jit.export
    def doubled(self, x):
        return self(x) * 2

    @torch.jit.ignore
    def extra(self, x) -> torch.Tensor:
        return torch.zeros(1)


class Plain(Net):
    def extra(self, x):
        return torch.zeros(1)


def test_modules_train_and_share():
    model = Plain()
    scripted = torch.jit.script(model)
    x = torch.randn(6, 4)
    expected = copy.deepcopy(model)(x)
    assert torch.equal(scripted(x), expected) and scripted.calls == 1
    scripted(x).sum().backward()
    assert model.layers[0].weight.grad is not None
    assert [*scripted.state_dict()] == [*model.state_dict()] and scripted.layers[0].original_name == "Linear"
    other = copy.deepcopy(scripted).eval()
    assert scripted.training and not other.layers[1].training
    assert torch.equal(other.doubled(x), other(x) * 2)
    with pytest.raises(pickle.PickleError):
        pickle.dumps(scripted)


def test_ignored_methods_stay_python_and_are_not_saved():
    scripted = torch.jit.script(Net())
    scripted(torch.randn(3, 4))
    with pytest.raises(RuntimeError, match="Could not export Python function call 'extra'"):
        scripted.save(io.BytesIO())


def test_archives_and_extra_files(tmp_path):
    scripted = torch.jit.script(Plain().eval())
    scripted.save(tmp_path / "m.pt", _extra_files={"note": "hello"})
    extra = {"note": ""}
    loaded = torch.jit.load(tmp_path / "m.pt", map_location="cpu", _extra_files=extra)
    x = torch.randn(3, 4)
    assert extra["note"] == b"hello" and torch.equal(loaded(x), scripted(x)) and loaded.code == scripted.code
    again = io.BytesIO(loaded.save_to_buffer())
    assert torch.equal(torch.jit.load(again)(x), scripted(x))
    with pytest.raises(ValueError, match="does not exist"):
        torch.jit.load(tmp_path / "none.pt")


def refused(function, message, kind=RuntimeError):
    with pytest.raises(kind, match=message):
        torch.jit.script(function)


def test_errors():
    def method(x):
        return x.foo()

    def types(x: int):
        return x + "a"

    def returns(x):
        if x.sum() > 0:
            return 1
        return x

    def unknown(x):
        return nothing_of_that_name(x)  # noqa: F821

    def one_side(x):
        if x.sum() > 0:
            y = 1
        return y

    def attempt(x):
        try:
            return x
        except ValueError:
            return x

    def spread(*x):
        return x

    refused(method, r"'Tensor \(inferred\)' object has no attribute or method 'foo'")
    refused(types, "Arguments for call are not valid")
    refused(
        returns,
        "Previous return statement returned a value of type int but this return statement returns a "
        r"value of type Tensor \(inferred\)",
    )
    refused(unknown, "undefined value nothing_of_that_name")
    refused(one_side, "y is not defined in the false branch")
    refused(attempt, "try blocks aren't supported", torch.jit.frontend.UnsupportedNodeError)
    refused(spread, "variable number of arguments", torch.jit.frontend.NotSupportedError)


def test_calls_are_checked():
    with pytest.raises(
        RuntimeError, match=r"Expected a value of type 'int' for argument 'n' but instead found type 'str'"
    ):
        branches(torch.ones(2), "x")
    with pytest.raises(RuntimeError, match=r"branches\(\) is missing value for argument 'n'"):
        branches(torch.ones(2))


@torch.jit.script
def raises(x):
    assert x.sum() > 0, "negative"
    return x


def test_programs_raise_torch_jit_error():
    with pytest.raises(torch.jit.Error, match="RuntimeError: AssertionError: negative"):
        raises(-torch.ones(2))


@torch.jit.script
class Pair:
    def __init__(self, a: int, b: torch.Tensor):
        self.a = a
        self.b = b

    def total(self) -> torch.Tensor:
        return self.b + self.a


@torch.jit.script
def classes(x):
    p = Pair(2, x)
    p.a += 1
    return p.total()


def one_more(x):
    return x + 1


@torch.jit.script
def forked(x):
    return torch.jit.wait(torch.jit.fork(one_more, x))


class Named(NamedTuple):
    x: torch.Tensor
    n: int


@torch.jit.script
def named(x):
    r = Named(x, 3)
    return r, r.n


def test_classes_named_tuples_and_forks():
    x = torch.ones(1)
    assert classes(x).tolist() == [4] and forked(x).tolist() == [2] and named(x)[0].n == named(x)[1] == 3
    for function in (classes, forked, named):
        assert str(torch.jit.load(io.BytesIO(saved(function)))(x)) == str(function(x))


def saved(thing):
    buffer = io.BytesIO()
    torch.jit.save(thing, buffer)
    return buffer.getvalue()


class Uses(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
        self.k = 3

    @torch.jit.unused
    def never(self, x: torch.Tensor) -> torch.Tensor:
        return eval("x")

    @property
    def half(self):
        return self.k / 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for name, layer in self.parts.items():
            x = layer(x)
            if name == "a":
                x = nn.functional.gelu(x)
        if self.k > 5:
            x = self.never(x)
        parts: list[torch.Tensor] = []
        for i in range(0, 2, 1):
            parts.append(x[:, None, ..., i] * self.half)
        return torch.stack(parts).sum(dim=0, keepdim=True) + int(x.shape[0])


def test_what_modules_hold():
    model = Uses()
    x = torch.randn(3, 2)
    scripted = torch.jit.script(model)
    assert torch.equal(scripted(x), model(x)) and torch.equal(torch.compile(scripted)(x), model(x))
    assert torch.equal(torch.jit.load(io.BytesIO(saved(scripted)))(x), model(x))
    scripted.k = 6
    with pytest.raises(torch.jit.Error, match="annotated to be ignored and cannot be run"):
        scripted(x)


def sizes(x, y):
    a, b = x.chunk(2, 1)
    z = (torch.cat([b, a.to(torch.float64).float()], 1) + y[0]).view(x.size(0), -1) * x.shape[0]
    z[0] = 1.0
    return z, x.max(1)[0]


def test_trace_generalises_over_sizes():
    traced = torch.jit.trace(sizes, (torch.randn(2, 4), torch.randn(3, 4)))
    x, y = torch.randn(5, 4), torch.randn(1, 4)
    for a, b in zip(traced(x, y), sizes(x, y), strict=True):
        assert torch.equal(a, b)
    buffer = io.BytesIO()
    torch.jit.save(traced, buffer)
    buffer.seek(0)
    assert torch.equal(torch.jit.load(buffer)(x, y)[0], sizes(x, y)[0])


def test_trace_warns_and_refuses():
    with pytest.warns(torch.jit.TracerWarning, match="Converting a tensor to a Python boolean"):
        torch.jit.trace(lambda x: x if x.sum() > 0 else -x, torch.ones(2))
    with pytest.warns(torch.jit.TracerWarning, match="Encountering a list at the output of the tracer"):
        torch.jit.trace(lambda x: [x], torch.ones(2))
    with pytest.raises(RuntimeError, match="Encountering a dict at the output of the tracer"):
        torch.jit.trace(lambda x: {"a": x}, torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = torch.jit.trace(lambda x: {"a": x + 1}, torch.ones(2), strict=False)
    assert traced(torch.zeros(1))["a"].item() == 1


def test_freeze():
    model = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()).eval())
    x = torch.randn(2, 3)
    frozen = torch.jit.freeze(model)
    assert torch.equal(frozen(x), model(x)) and not list(frozen.parameters())
    with pytest.raises(RuntimeError, match="eval mode"):
        torch.jit.freeze(torch.jit.script(nn.Linear(3, 3)))


def changed(change):
    """An archive whose code is changed."""
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(nn.Linear(2, 2)), buffer)
    out = io.BytesIO()
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            new.writestr(info.filename, change(data.decode()) if info.filename.endswith(".py") else data)
    out.seek(0)
    return out


@pytest.mark.parametrize(
    "bad",
    [
        "__import__('os').system('touch /tmp/owned')",
        "eval('1')",
        "self.__class__",
        "().__class__",
        "torch.os",
        "open('x')",
        "(lambda: 1)()",
        "torch.linear.__globals__",
        "getattr(self, '__dict__')",
        "torch.load('x')",
        "1 +",
        "((" * 300 + "))" * 300,
        "__torch__.nothing.here(input)",
        "CONSTANTS.c9",
        "int()",
        "print.__self__",
    ],
)
def test_files_that_mean_harm_end_in_an_error(bad):
    with pytest.raises(RuntimeError):
        torch.jit.load(changed(lambda text: text.replace("torch.linear(input, weight, bias)", bad)))


def test_statements_outside_of_classes_are_refused():
    with pytest.raises(RuntimeError, match="expected classes and functions"):
        torch.jit.load(changed(lambda text: "import os\n" + text))


def test_import_is_lazy():
    code = "import sys, rushlight; assert not any(m.startswith('rushlight.jit') for m in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_programs_under_the_launcher_annotate_with_torch(tmp_path):
    (tmp_path / "program.py").write_text("""
import torch
from typing import List, Optional, Tuple

def f(x: Optional[torch.Tensor], d: torch.device, t: torch.dtype) -> Tuple[List[torch.Tensor], torch.Size]:
    assert x is not None and isinstance(x, torch.Tensor)
    made = torch.jit.annotate(List[torch.Tensor], [x.to(d, t), torch.ones(2, device=torch.device("cpu"))])
    return made, x.shape

print(torch.jit.script(f)(torch.ones(2), torch.device("cpu"), torch.float64))
""")
    run = subprocess.run(
        [sys.executable, "-m", "rushlight", tmp_path / "program.py"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert run.stdout == "([tensor([1., 1.], dtype=torch.float64), tensor([1., 1.])], [2])\n"
