"""The list of which family declares what; and what is loaded when."""

import subprocess
import sys

from rushlight._engine.ops import table
from tools import operators


def test_contents_are_those_of_the_families():
    with open(table.CONTENTS, encoding="utf-8") as file:
        assert file.read() == operators.contents(), "run: python tools/operators.py"


def test_the_page_of_operators_is_current():
    assert operators.PAGE.read_text(encoding="utf-8") == operators.page(), "run: python tools/operators.py"


def loaded(code):
    """The modules that a fresh process has after `code`."""
    found = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(found.stdout.split())


def test_every_entry_is_declared_by_its_family():
    code = (
        "from rushlight._engine.ops.table import NAMES, ROWS\n"
        "for entries in (ROWS, NAMES): [entries[key] for key in entries.families]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_loads_what_it_needs():
    assert "numpy" not in loaded("import rushlight")
    found = loaded("import rushlight as torch; (torch.ones(2) + 1).sum()")
    assert {
        "numpy",
        "rushlight._engine.ops.pointwise.arithmetic",
        "rushlight._engine.ops.reductions.reductions",
    } <= found
    assert not {"llvmlite", "rushlight._engine.ops.nn.convolution", "rushlight.nn"} & found


def test_the_function_tensor_stays_when_the_room_is_imported():
    code = "import rushlight._engine.tensors.tensor, rushlight as t; assert t.tensor([1]).tolist() == [1]"
    assert "rushlight._engine.tensors.construction.factories" in loaded(code)
