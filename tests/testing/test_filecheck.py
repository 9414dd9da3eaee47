"""FileCheck: texts in order, in a row, so often, or not at all."""

from __future__ import annotations

import pytest

from rushlight.testing import FileCheck

TEXT = "graph(%x):\n  %a = add(%x)\n  %b = mul(%a)\n      ~~~~~~~\n  %c = mul(%b)\n  return (%c)\n"


def test_what_holds() -> None:
    FileCheck().check("add").check_next("mul").check_same("(%a)").check("return").run(TEXT)
    FileCheck().check_count("mul", 2, exactly=True).check_not("mul").run(TEXT)
    FileCheck().check_dag("mul").check_dag("add").check_regex(r"return \(%\w\)").run(TEXT)
    FileCheck().check_not("sub").check("add").check_not("div").run(TEXT)


@pytest.mark.parametrize(
    "check",
    [
        FileCheck().check("mul").check("add"),
        FileCheck().check("graph").check_next("mul"),
        FileCheck().check("add").check_same("mul"),
        FileCheck().check_count("mul", 3),
        FileCheck().check_count("mul", 1, exactly=True),
        FileCheck().check("graph").check_not("add").check("return"),
        FileCheck().check_regex(r"return \d"),
    ],
)
def test_what_does_not(check: FileCheck) -> None:
    with pytest.raises(RuntimeError, match="Expected to (not )?find"):
        check.run(TEXT)


def test_checks_in_a_text() -> None:
    FileCheck().run("# CHECK: add\n # CHECK-COUNT-2: mul\n# CHECK-NOT: sub", TEXT)
    with pytest.raises(RuntimeError, match="Expected to not find"):
        FileCheck().run("# CHECK-COUNT-EXACTLY-1: mul", TEXT)
    with pytest.raises(RuntimeError, match="Could not parse check"):
        FileCheck().run("# CHECK1", TEXT)
