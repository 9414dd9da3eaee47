"""What programs script: torch.functional's functions, partials, results by name, variables that change."""

from __future__ import annotations

import functools

import pytest

import rushlight as torch


def _x() -> torch.Tensor:
    return torch.arange(24.0).reshape(2, 3, 4)


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
    from typing import List

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
