"""Libraries tell frameworks apart by the module of a value's type: a parameter's is torch's where that is ours."""

import subprocess
import sys

PROGRAM = """
import copy, inspect, pickle
import torch
p = torch.nn.Parameter(torch.ones(2))
for of in (torch.nn.Parameter, torch.nn.Buffer, torch.nn.UninitializedParameter, torch.nn.UninitializedBuffer):
    assert of.__module__ == "torch.nn.parameter", of
    assert pickle.loads(pickle.dumps(of)) is of
assert type(pickle.loads(pickle.dumps(p))) is type(copy.deepcopy(p)) is torch.nn.Parameter
assert inspect.getsource(torch.nn.Parameter).startswith("class Parameter")
"""


def test_under_the_launcher(tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    subprocess.run([sys.executable, "-m", "rushlight", str(program)], check=True, timeout=120)


def test_by_its_own_name() -> None:
    import rushlight

    assert rushlight.nn.Parameter.__module__ == f"{rushlight.Tensor.__module__}.nn.parameter"
