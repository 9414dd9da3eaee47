"""What programs script: torch.functional's functions, partials, results by name, variables that change."""

from __future__ import annotations

import functools
import importlib.util
import io
from pathlib import Path
from typing import List, NamedTuple  # as programs spell them

import pytest

import rushlight as torch


def _x() -> torch.Tensor:
    return torch.arange(24.0).reshape(2, 3, 4)


def test_tensordot_writes_into_out() -> None:
    @torch.jit.script
    def product(x: torch.Tensor, out: torch.Tensor | None = None):
        first = torch.functional.tensordot(x, x, ([1], [0]), out=out)
        return first, torch.functional.tensordot(x, x, 1, out=None)

    x, out = torch.randn(3, 3), torch.zeros(3, 3)
    for given in (None, out):
        for found in product(x, given):
            torch.testing.assert_close(found, x @ x)
    torch.testing.assert_close(out, x @ x)


def test_tensordot_takes_numbers_and_lists() -> None:
    def dots(x):
        return (
            torch.tensordot(x, x, 0).sum(),
            torch.tensordot(x, x, ([0], [0])),
            torch.tensordot(x, x, [[0, 1], [0, 1]]),
        )

    for found, wanted in zip(torch.jit.script(dots)(_x()), dots(_x())):
        assert torch.equal(found, wanted)


def test_unique_gives_what_constants_ask_for() -> None:
    def all_three(x):
        a, b = torch.unique(x, return_inverse=True)
        c, d = torch.unique_consecutive(x, return_counts=True)
        return torch.unique(x), a, b, c, d

    x = torch.tensor([3, 1, 1, 2])
    for found, wanted in zip(torch.jit.script(all_three)(x), all_three(x)):
        assert torch.equal(found, wanted)


def test_norm_by_name_and_number() -> None:
    def norms(x):
        return (
            torch.norm(x),
            torch.norm(x, p="fro", dim=[0, 1]),
            torch.norm(x, p=1, dim=1),
            torch.norm(x, 2, 0),
        )

    for found, wanted in zip(torch.jit.script(norms)(_x()), norms(_x())):
        assert torch.allclose(found, wanted)


def test_stft_is_centered_where_nothing_is_said() -> None:
    def spectrum(x):
        return torch.stft(x, 8, window=torch.ones(8), return_complex=True).abs()

    assert torch.jit.script(spectrum)(_x().flatten()).shape == (5, 13)


def test_tolist_is_of_the_annotated_type() -> None:
    def listed(x) -> List[List[float]]:
        found: List[List[float]] = x.tolist()
        return found

    script = torch.jit.script(listed)
    assert script(torch.ones(1, 2)) == [[1.0, 1.0]]
    assert "annotate(List[List[float]], x.tolist())" in script.code
    with pytest.raises(RuntimeError, match="must match for tolist"):
        script(torch.ones(2))


def test_results_have_names() -> None:
    assert torch.jit.script(lambda_free_topk)(_x()).shape == (2, 3, 2)


def lambda_free_topk(x):
    return x.topk(2, dim=-1).values


def test_a_variable_changes_its_type_in_its_own_block() -> None:
    def grown(x):
        parts = [x, x]
        parts = torch.cat(parts)
        return parts

    def torn(x):
        n = 1
        if bool(x.sum() > 0):
            n = [x]
        return n

    assert torch.jit.script(grown)(torch.ones(2)).shape == (4,)
    with pytest.raises(RuntimeError, match="Variable 'n' previously had type int"):
        torch.jit.script(torn)


def test_a_partial_is_its_function_with_constants() -> None:
    doubled = functools.partial(torch.sum, dim=0)

    def total(x):
        return doubled(x)

    assert torch.equal(torch.jit.script(total)(_x()), _x().sum(0))


def test_grid_sample_unfold_and_assert() -> None:
    def several(x):
        torch._assert(x.dim() == 3, "three dims")
        found = torch.nn.functional.grid_sample(x[None], torch.zeros(1, 2, 2, 2), align_corners=False)
        return found, torch.nn.functional.unfold(x[None], 2), torch.ops.aten.relu(x)

    for found, wanted in zip(torch.jit.script(several)(_x()), several(_x())):
        assert torch.equal(found, wanted)


def test_switches_of_the_executor_are_kept() -> None:
    core = torch._C
    before = core._jit_set_profiling_executor(False)
    assert before is True and core._jit_set_profiling_executor(before) is False
    fused = core._jit_can_fuse_on_gpu()
    core._jit_override_can_fuse_on_gpu(not fused)
    assert core._jit_can_fuse_on_gpu() is not fused
    core._jit_override_can_fuse_on_gpu(fused)
    core._jit_set_emit_hooks(abs, None)
    assert core._jit_get_emit_hooks() == (abs, None)
    core._jit_set_emit_hooks(None, None)


def extended(a: list[int], b: dict[str, list[int]]) -> int:
    a.append(4)
    b["x"].append(5)
    b["y"] = [1]
    return len(a) + len(b["x"]) + len(b)


def test_lists_of_callers_stay_as_they_are() -> None:
    scripted = torch.jit.script(extended)
    mine, more = [1, 2], {"x": [3]}
    assert scripted(mine, more) == 3 + 2 + 2
    assert mine == [1, 2] and more == {"x": [3]}
    shared = torch.jit.script([1, 2])
    scripted(shared, more)
    assert shared == [1, 2, 4]


class _Scaled(torch.nn.Module):
    """A module of Python that scripted functions call."""

    ran = 0

    def forward(self, x, scale: float = 1.0):
        type(self).ran += 1
        return x * scale


_scaled = _Scaled()


def test_modules_that_stay_python_take_no_names() -> None:
    def named(x):
        return _scaled(x, scale=3.0)

    def number(x):
        return _scaled(3)

    def placed(xs: List[torch.Tensor]):
        more = (xs.pop(), 2.0)
        _unread = _scaled(xs.pop())
        return _scaled(*more), len(xs)

    with pytest.raises(
        RuntimeError, match=r"\(Tensor self, ...\) -> Tensor 0:\nKeyword argument scale unknown"
    ):
        torch.jit.script(named)
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor' for argument 'self'"):
        torch.jit.script(number)
    _Scaled.ran = 0
    found, left = torch.jit.script(placed)([torch.ones(1)] * 4)
    assert (found.item(), left, _Scaled.ran) == (2.0, 2, 2)


def _broken(x):
    return x.nowhere(1)


class _Holder(torch.nn.Module):
    """Attributes of several kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 3
        self.function = _broken
        self.thing = object()

    def bad(self, x):
        return x.nowhere(1)

    @property
    def four(self) -> int:
        return 4


class _Asks(_Holder):
    def forward(self, x):
        return getattr(self, "number", 5), getattr(self, "nothing", 5), getattr(self, "thing", 6)


class _AsksMore(_Holder):
    def forward(self, x):
        return getattr(self, "four", 5), getattr(self, "function", 6), hasattr(self, "function")


class _AsksForBad(_Holder):
    def forward(self, x):
        _f = getattr(self, "bad", 5)
        return x


class _Named(NamedTuple):
    """A tuple with a name."""

    a: int


def test_getattr_gives_its_default_only_for_what_is_not_there() -> None:
    """A method that does not compile raises; properties and functions that do not compile are not there."""
    assert torch.jit.script(_Asks())(torch.ones(1)) == (3, 5, 6)
    assert torch.jit.script(_AsksMore())(torch.ones(1)) == (5, 6, False)
    with pytest.raises(RuntimeError, match="no attribute or method 'nowhere'"):
        torch.jit.script(_AsksForBad())

    def of_tuple(x):
        n = _Named(3)
        return getattr(n, "a", 1), getattr(n, "b", 7), hasattr(n, "a"), hasattr(n, "b")

    def of_tensor(x):
        return getattr(x, "shape", 1)

    assert torch.jit.script(of_tuple)(torch.ones(1)) == (3, 7, True, False)
    with pytest.raises(RuntimeError, match=r"hasattr's first .* NamedTuple, got Tensor \(inferred\) instead"):
        torch.jit.script(of_tensor)


_PROGRAM = """
from typing import List
import torch

def mutable(x: List[int] = []):
    return x

def tries(x):
    return x
    try:
        pass
    except ValueError:
        pass

class Picks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.all = torch.nn.ModuleList([torch.nn.ReLU()])

    def forward(self, x):
        i = 0
        return self.all[i](x)
"""


def test_programs_in_a_folder_of_our_name_are_not_ours(tmp_path: Path) -> None:
    """What is refused in a user's program is, wherever the program lies."""
    path = tmp_path / "my-rushlight" / "program.py"
    path.parent.mkdir()
    path.write_text(_PROGRAM.replace("import torch", "import rushlight as torch"))
    spec = importlib.util.spec_from_file_location("program_of_test", path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    with pytest.raises(RuntimeError, match="Mutable default parameters"):
        torch.jit.script(program.mutable)
    with pytest.raises(torch.jit.frontend.UnsupportedNodeError, match="try blocks aren't supported"):
        torch.jit.script(program.tries)
    with pytest.raises(RuntimeError, match="Expected integer literal for index"):
        torch.jit.script(program.Picks())


class _WithProperty(torch.nn.Module):
    """A property that is read more than once, and one that is none of TorchScript's."""

    __jit_unused_properties__ = ("left",)

    def __init__(self) -> None:
        super().__init__()
        self.number = 2

    @property
    def twice(self) -> int:
        return self.number * 2

    @twice.setter
    def twice(self, value: int) -> None:
        self.number = value // 2

    @property
    def left(self) -> int:
        return torch.zeros(1).nowhere()

    @property
    @torch.jit.unused
    def unused(self) -> int:
        return torch.zeros(1).nowhere()

    def forward(self, x):
        self.twice = 8
        self.twice = 12
        return self.twice + self.twice, hasattr(self, "twice"), getattr(self, "twice", 5)


class _BadProperty(_WithProperty):
    @property
    def bad(self) -> int:
        return torch.zeros(1).nowhere()


def test_properties_are_read_more_than_once_and_compiled_where_nobody_reads_them() -> None:
    made = torch.jit.script(_WithProperty())
    file = io.BytesIO()
    torch.jit.save(made, file)
    file.seek(0)
    assert isinstance(made.twice, property)
    assert made(torch.ones(1)) == torch.jit.load(file)(torch.ones(1)) == (24, False, 5)
    with pytest.raises(RuntimeError, match="no attribute or method 'nowhere'"):
        torch.jit.script(_BadProperty())
