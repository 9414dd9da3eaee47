"""torch.use_deterministic_algorithms: what it refuses, and the memory that it fills."""

from __future__ import annotations

import pytest

import rushlight as torch

F = torch.nn.functional


@pytest.fixture(autouse=True)
def switch():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = True


def put(accumulate):
    return torch.zeros(3).put_(torch.tensor([0]), torch.ones(1), accumulate).tolist()


def test_put_is_refused_unless_it_accumulates():
    with pytest.raises(
        RuntimeError,
        match="put_ does not have a deterministic implementation, but you set "
        r"'torch.use_deterministic_algorithms\(True\)'. You can turn off",
    ):
        put(False)
    assert put(True) == [1.0, 0.0, 0.0]
    torch.use_deterministic_algorithms(True, warn_only=True)
    with pytest.warns(UserWarning, match=r"put_ does not have .*warn_only=True\)'. You can file an issue"):
        assert put(False) == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_max_unpool_is_refused(n):
    with pytest.raises(RuntimeError, match=f"max_unpooling{max(n, 2)}d_forward_out does not have"):
        getattr(F, f"max_unpool{n}d")(torch.ones(1, 1, *[1] * n), torch.zeros(1, 1, *[1] * n).long(), 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(2),
        lambda: torch.empty_like(torch.ones(2)),
        lambda: torch.empty_strided((2,), (2,)),
        lambda: torch.ones(1).new_empty(2),
        lambda: torch.Tensor(2),
        lambda: torch.empty(2, dtype=torch.bfloat16),
    ],
)
def test_memory_that_nobody_wrote_to_is_nan(make):
    assert bool(make().isnan().all())
    torch.utils.deterministic.fill_uninitialized_memory = False
    make()
    with pytest.raises(TypeError, match="expected mode to be a bool, but got int"):
        torch.utils.deterministic.fill_uninitialized_memory = 1


def test_integers_are_the_largest_and_what_resize_adds_is_filled():
    assert torch.empty(1, dtype=torch.int16).tolist() == [32767]
    assert torch.empty(1, dtype=torch.uint8).tolist() == [255]
    assert torch.empty(1, dtype=torch.bool).tolist() == [True]
    found = torch.ones(2).resize_(4)
    assert found[:2].tolist() == [1.0, 1.0] and bool(found[2:].isnan().all())


def test_switches_of_determinism_are_booleans() -> None:
    wrong = 1
    with pytest.raises(TypeError, match=r"argument 'mode' \(position 1\) must be bool, not int"):
        torch.use_deterministic_algorithms(wrong)
    with pytest.raises(TypeError, match=r"argument 'warn_only' must be bool, not int"):
        torch.use_deterministic_algorithms(False, warn_only=wrong)
    torch.set_deterministic_debug_mode("default")
    assert not torch.are_deterministic_algorithms_enabled()
