"""`from torch.x import *` gives what PyTorch's modules give, by the recorded table (tools/star_names.py)."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import rushlight
from rushlight._engine.names import placeholders, star_names

ROOT = Path(rushlight.__file__).parent
OTHERS = """torch.functional torch.autograd torch.autograd.variable torch.distributions torch.jit torch.nn.init
torch.distributions.bernoulli torch.fx torch.nn.parameter torch.nn.utils.rnn torch.optim.adam torch.storage
torch.utils.data.dataset torch.utils.data.datapipes.iter.callable torch.utils.dlpack""".split()


def answers_itself(name):
    """Whether our file of a module has a `__getattr__` of its own: it must answer for `__all__` too."""
    path = ROOT.joinpath(*name.split(".")[1:])
    files = [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]
    return any(re.search(r"^(def )?__getattr__\b", file.read_text(), re.M) for file in files)


def differences(name: str) -> tuple[list[str], list[str]]:
    """The names that a star import of a module gives beyond PyTorch's, and PyTorch's that it should give."""
    space: dict[str, object] = {}
    ours = name.replace("torch", "rushlight", 1)
    exec(f"from {ours} import *", space)
    space.pop("__builtins__")
    module, (own, imported, _) = import_module(ours), star_names.table()[name]
    lacking = [
        each
        for each in {*own} - {*space}
        if star_names._is_there(module, each) and not placeholders.is_absent(getattr(module, each))
    ]
    return sorted({*space} - {*own, *imported}), sorted(lacking)


# The others have their `__all__` from the table (`python tools/star_names.py check` walks them all).
@pytest.mark.parametrize("name", sorted({*filter(answers_itself, star_names.table()), *OTHERS} - {"torch"}))
def test_a_star_import_gives_pytorch_s_names(name):
    assert differences(name) == ([], [])


def test_the_star_of_torch(monkeypatch):
    monkeypatch.setattr(star_names, "_is_there", lambda module, name: True)  # else each op is made now
    taken = rushlight.__all__
    assert (
        {"Tensor", "abs", "cat", "float32", "no_grad", "zeros"}
        <= {*taken}
        == {*star_names.table()["torch"][0]}
    )


def test_a_module_shows_pytorch_s_names():
    shown = {
        name: dir(import_module(f"rushlight.{name}"))
        for name in ("distributions", "nn.parameter", "optim.sgd")
    }
    assert "Any" not in shown["distributions"]
    assert not {"homes", "lazy_names", "public", "Formula"} & {
        name for names in shown.values() for name in names
    }
    assert {"Normal", "kl", "register_kl"} <= {*shown["distributions"]}
    assert {"Buffer", "Parameter", "UninitializedParameter", "is_lazy"} <= {*shown["nn.parameter"]}
    assert "SGD" in shown["optim.sgd"]


def test_names_of_our_own_modules():
    space: dict[str, object] = {}
    exec("from rushlight.foreach import *", space)
    assert len(space) == 91


def test_the_class_of_parameters_is_called_as_pytorch_s():
    parameter = import_module("rushlight.nn.parameter")
    assert type(parameter.Parameter).__name__ == "_ParameterMeta"
