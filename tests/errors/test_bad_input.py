"""Wrong shapes, dtypes, dims, indices, keywords: PyTorch's exception type and key words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight
import rushlight as torch

_GOLDENS = Path(__file__).parents[1] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from error_cases import cases, raised  # noqa: E402 - lives beside its recorded types

_TYPES: dict[str, str] = json.loads((_GOLDENS / "errors.json").read_text())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "words"), cases(), ids=[text for text, _ in cases()])
def test_mistake(text: str, words: str) -> None:
    kind, message = raised(rushlight, text)
    assert kind == _TYPES[text], message
    assert words in message


def test_nothing_is_changed_by_a_refused_write() -> None:
    x = rushlight.ones(2, 3)
    for write in (
        lambda: x.add_(rushlight.ones(4)),
        lambda: x.mul_(1j),
        lambda: x.copy_(rushlight.ones(5)),
        lambda: x.__setitem__(0, rushlight.ones(7)),
        lambda: x.index_fill_(0, rushlight.tensor(9), 2),
        lambda: rushlight.add(x, rushlight.ones(4), out=x),
    ):
        before = x.tolist()
        with pytest.raises((RuntimeError, IndexError)):
            write()
        assert x.tolist() == before and x.shape == (2, 3)


def test_switches_for_reproducible_results() -> None:
    """They are kept; how many threads there are changes no result."""
    torch: Any = rushlight
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 1
    torch.set_deterministic_debug_mode("default")
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        torch.set_deterministic_debug_mode("x")
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: torch.nn.functional.max_pool2d(torch.ones(2, 3, 1, 1), 2),
            "Given input size: (3x1x1). Calculated output size: (3x0x0). Output size is too small",
        ),
        (
            lambda: torch.nn.functional.avg_pool1d(torch.ones(2, 3, 5), 6),
            "Given input size: (3x1x5). Calculated output size: (3x1x0). Output size is too small",
        ),
        (
            lambda: torch.nn.functional.max_pool1d(torch.ones(2, 3, 1), 2),
            "max_pool1d() Invalid computed output size: 0",
        ),
    ],
)
def test_windows_larger_than_the_input(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError) as told:
        call()
    assert str(told.value) == message


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits"])
def test_losses_in_python_ask_their_tensors_for_sizes(name: str) -> None:
    """A loss of None is PyTorch's AttributeError, which programs meet that forget to return a result."""
    loss = getattr(torch.nn.functional, name)
    for args in ((None, torch.ones(2)), (torch.ones(2), None)):
        with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'size'"):
            loss(*args)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'dim'"):
        torch.nn.functional.margin_ranking_loss(None, torch.ones(2), torch.ones(2))


def test_losses_in_python_ask_nothing_of_their_other_tensors() -> None:
    ones = torch.ones(2)
    with pytest.raises(AttributeError, match="'float' object has no attribute 'size'"):
        torch.nn.functional.binary_cross_entropy(ones, ones, 3.0)
    for given in ({"weight": 3.0}, {"pos_weight": 3.0}):
        with pytest.raises(TypeError, match="must be Tensor, not float"):
            torch.nn.functional.binary_cross_entropy_with_logits(ones, ones, **given)
