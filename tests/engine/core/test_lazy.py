"""Names that come at first mention are there for who looks into a package's dictionary."""

import subprocess
import sys

import pytest

import rushlight as torch


@pytest.mark.parametrize(
    "package",
    [
        "optim",
        "nn",
        "distributions",
        "distributed",
        "utils.data",
        "linalg",
        "fft",
        "autograd",
        "optim.lr_scheduler",
        "nn.utils",
    ],
)
def test_a_package_s_dictionary_has_all_its_names(package):
    code = (
        f"import rushlight, rushlight.{package} as p\n"
        "import sys; names = set(vars(p))\n"
        "from rushlight._engine.lazy import names_of\n"
        "assert not [n for n in names_of(p).get('_all', ()) if n not in names]\n"
        "assert not [n for n in dir(p) if n not in names and not n.startswith('_')], set(dir(p)) - names"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_classes_are_found_by_walking():
    assert torch.optim.__dict__["Adam"] is torch.optim.Adam
    assert [k for k, v in vars(torch.distributions).items() if isinstance(v, type) and k == "Normal"] == [
        "Normal"
    ]
    assert {"add", "Tensor", "float32", "nn"} <= {*vars(torch)} | {"nn"}
    assert torch.distributed.device_mesh.init_device_mesh is torch.distributed.init_device_mesh


def test_subclasses_of_a_base_are_all_there_as_torch_has_them():
    code = (
        "import rushlight as t; from rushlight.distributions import Distribution, transforms\n"
        "names = lambda cls: {each.__name__ for each in cls.__subclasses__()}\n"
        "assert {'SGD', 'Adam', 'LBFGS', 'Muon', 'Adafactor'} <= names(t.optim.Optimizer)\n"
        "assert names(t.optim.Adam) == {'AdamW'} and 'Elementwise' not in names(t.optim.Optimizer)\n"
        "assert {'StepLR', 'OneCycleLR', 'SequentialLR'} <= names(t.optim.lr_scheduler.LRScheduler)\n"
        "assert {'Linear', 'GELU', '_ConvNd', 'ModuleList', 'Transformer'} <= names(t.nn.Module)\n"
        "assert {'Categorical', 'Laplace', 'OneHotCategorical'} <= names(Distribution)\n"
        "assert {'ExpTransform', 'StackTransform'} <= names(transforms.Transform)\n"
        "class Own(t.optim.SGD): pass\n"
        "assert names(t.optim.SGD) == {'Own'} and Own.__subclasses__() == []\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_asking_for_a_name_loads_no_other():
    code = "import rushlight as t, sys; t.nn; dir(t.optim); assert 'rushlight.optim.adam' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
