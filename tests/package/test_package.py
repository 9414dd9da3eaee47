"""Packages: what is put in comes out again, apart from the environment; what may not be in is told."""

from __future__ import annotations

import importlib
import importlib.resources
import inspect
import io
import zipfile

import pytest

import rushlight as torch
from rushlight.package import (
    EmptyMatchError,
    GlobGroup,
    ObjMismatchError,
    PackageExporter,
    PackageImporter,
    PackagingError,
    analyze,
    is_from_package,
    package_exporter,
    sys_importer,
)

MODEL = """\
from rushlight import nn
import rushlight as torch
from pkg_for_test.inner import scale

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x):
        return self.linear(x) * scale()
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A package of Python in the environment."""
    folder = tmp_path / "pkg_for_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "inner.py").write_text("import math\n\ndef scale():\n    return math.floor(2.5)\n")
    (folder / "model.py").write_text(MODEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(package_exporter, "_gate_torchscript_serialization", False)
    return tmp_path


def packaged(write, **given):
    file = io.BytesIO()
    with PackageExporter(file, **given) as exporter:
        write(exporter)
    return io.BytesIO(file.getvalue())


def test_a_model_comes_back_with_its_own_code(home):
    from pkg_for_test import model

    net = model.Net()

    def write(exporter):
        exporter.intern("pkg_for_test.**")
        exporter.save_pickle("m", "net.pkl", {"net": net, "dtype": torch.float16})
        assert exporter.interned_modules() == ["pkg_for_test.model", "pkg_for_test.inner"]
        assert exporter.get_rdeps("pkg_for_test.inner") == ["pkg_for_test.model"]
        assert "math" in exporter.externed_modules()

    file = packaged(write)
    importer = PackageImporter(file)
    found = importer.load_pickle("m", "net.pkl")
    x = torch.ones(1, 3)
    assert found["dtype"] is torch.float16
    assert torch.equal(found["net"](x), net(x))
    assert type(found["net"]) is not model.Net
    assert type(found["net"]) is importer.import_module("pkg_for_test.model").Net
    assert is_from_package(found["net"])
    assert not is_from_package(net)
    assert inspect.getsource(type(found["net"])) == inspect.getsource(model.Net)
    with pytest.raises(ObjMismatchError, match="lists the importer for <torch_package_"):
        sys_importer.get_name(type(found["net"]))
    again = PackageImporter(packaged(write_again(found["net"]), importer=[importer, sys_importer]))
    assert torch.equal(again.load_pickle("m", "net.pkl")(x), net(x))


def write_again(net):
    def write(exporter):
        exporter.intern("**")
        exporter.save_pickle("m", "net.pkl", net)

    return write


def test_tensors_of_one_storage_are_one_storage_and_scripts_share_it(home):
    held = torch.ones(2, 2)

    class Holds(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.held = held

        def forward(self, x):
            return self.held + x

    scripted = torch.jit.script(Holds())
    file = packaged(lambda e: e.save_pickle("m", "a.pkl", [held, held.view(4), scripted, scripted]))
    importer = PackageImporter(file)
    base, view, one, other = importer.load_pickle("m", "a.pkl")
    assert [n for n in zipfile.ZipFile(file).namelist() if n.endswith(".storage")] == [
        "archive/.data/0.storage"
    ]
    base.add_(1)
    assert view.tolist() == [2.0] * 4
    assert one(torch.zeros(2, 2)).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert one is other


def test_graphs_of_fx_are_modules_of_the_package(home):
    from pkg_for_test.inner import scale

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.mul, (x, graph.call_function(scale))))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    module.note = "kept"

    def write(exporter):
        exporter.intern("pkg_for_test.**")
        exporter.save_pickle("m", "a.pkl", module)

    found = PackageImporter(packaged(write)).load_pickle("m", "a.pkl")
    assert found(torch.ones(1)).item() == 2
    assert found.note == "kept"


def test_what_is_mocked_raises_when_it_is_used(home):
    def write(exporter):
        exporter.mock("pkg_for_test.inner")
        exporter.save_source_string("main", "from pkg_for_test import inner\nvalue = inner.scale\n")

    main = PackageImporter(packaged(write)).import_module("main")
    with pytest.raises(
        NotImplementedError, match="was mocked out during packaging but it is being used in __call__"
    ):
        main.value()


def test_what_nobody_decided_about_is_told(home):
    from pkg_for_test import model

    with pytest.raises(PackagingError, match="Extern, mock, or intern it.\n    pkg_for_test.model") as caught:
        packaged(lambda e: e.save_pickle("m", "net.pkl", model.Net()))
    assert analyze.find_first_use_of_broken_modules(caught.value) == {
        "pkg_for_test.model": ["<m.net.pkl>", "pkg_for_test.model"]
    }
    with pytest.raises(PackagingError, match="denied"):
        packaged(lambda e: (e.deny("pkg_for_test"), e.save_source_string("a", "import pkg_for_test")))
    with pytest.raises(EmptyMatchError, match="did not match any modules"):
        packaged(lambda e: e.extern("nothing", allow_empty=False))
    with pytest.raises(PackagingError, match="Context: attempted relative import beyond top-level package"):
        packaged(lambda e: e.save_source_string("a", "from .... import b"))


def test_files_beside_modules_and_the_tree_of_all(home, tmp_path):
    path = tmp_path / "some.pt"
    with PackageExporter(path) as exporter:
        exporter.save_text("data.of", "a.txt", "hello")
        exporter.save_source_string(
            "main", "import torch_package_importer as me\ntext = me.load_text('data.of', 'a.txt')"
        )
    importer = PackageImporter(path)
    assert importer.import_module("main").text == "hello"
    assert (
        importlib.resources.files(importer.import_module("data.of")).joinpath("a.txt").read_text() == "hello"
    )
    tree = importer.file_structure(include=["data/**", "*.py"])
    assert str(tree).split("\n", 1)[1] == (
        "    ├── data\n    │   └── of\n    │       └── a.txt\n    └── main.py\n"
    )
    zipfile.ZipFile(path).extractall(tmp_path / "unpacked")
    unpacked = PackageImporter(tmp_path / "unpacked" / "some")
    assert unpacked.import_module("main").text == "hello"
    with pytest.raises(ModuleNotFoundError, match='No module named "other" in self-contained archive'):
        importer.import_module("other")


def test_patterns():
    group = GlobGroup(["torch.**", "a*.b"], exclude=["torch.**.foo"])
    assert [
        n for n in ("torch", "torch.x.y", "torch.x.foo", "ab.b", "a.c.b", "torchvision") if group.matches(n)
    ] == [
        "torch",
        "torch.x.y",
        "ab.b",
    ]
    with pytest.raises(ValueError, match="entire path segment"):
        GlobGroup("a.**b")


def test_packaging_again_takes_the_code_of_the_package_and_not_of_the_environment(home):
    from pkg_for_test import inner
    from pkg_for_test.model import Net

    def write(exporter):
        exporter.intern("pkg_for_test.**")
        exporter.save_pickle("models", "net.pkl", Net())

    first = PackageImporter(packaged(write))
    net = first.load_pickle("models", "net.pkl")
    (home / "pkg_for_test" / "inner.py").write_text("def scale():\n    return 77\n")
    importlib.reload(inner)

    def again(exporter):
        exporter.intern("pkg_for_test.**")
        exporter.save_pickle("models", "net.pkl", net)

    second = PackageImporter(packaged(again, importer=[first, sys_importer]))
    assert second.import_module("pkg_for_test.inner").scale() == 2
    x = torch.ones(1, 3)
    assert torch.equal(second.load_pickle("models", "net.pkl")(x), net(x))


def test_parameters_and_quantized_tensors():
    base = torch.arange(10.0)
    q = torch.quantize_per_tensor(base, 0.5, 3, torch.quint8)
    given = [base, torch.nn.Parameter(base), base[2:5], q, q[2:]]
    file = packaged(lambda exporter: exporter.save_pickle("data", "all.pkl", given))
    loaded = PackageImporter(file).load_pickle("data", "all.pkl")
    found = [t.untyped_storage().data_ptr() for t in loaded]
    assert found[0] == found[1] == found[2] and found[3] == found[4] and len(set(found)) == 2
    assert torch.equal(loaded[1], base) and torch.equal(loaded[4].int_repr(), q[2:].int_repr())
