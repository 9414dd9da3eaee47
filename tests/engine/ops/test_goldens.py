"""Ops on small operands: recorded values, dtypes, sizes, gradients and names of nodes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight

_GOLDENS = Path(__file__).parents[2] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from ops_cases import cases, differences, run  # noqa: E402 - lives beside its recorded output

_RECORDED: dict[str, Any] = json.loads((_GOLDENS / "ops.json").read_text())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", cases())
def test_as_recorded(text: str) -> None:
    found = differences(run(rushlight, text), _RECORDED[text])
    assert not found, "\n".join(found)


def test_names_of_nodes_are_shown() -> None:
    """In a tensor's repr, as a class name, and on the way through the graph."""
    torch: Any = rushlight
    x = torch.ones(2, 3, requires_grad=True)
    y = torch.nn.functional.linear(x, torch.ones(4, 3), torch.ones(4)).sum(1)
    assert repr(y) == "tensor([16., 16.], grad_fn=<SumBackward1>)"
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "SumBackward1"
    ((before, _),) = y.grad_fn.next_functions
    assert before.name() == "AddmmBackward0" and repr(before).startswith("<AddmmBackward0 object at ")
    loss = torch.nn.functional.mse_loss(x, torch.zeros(2, 3))
    assert repr(loss) == "tensor(1., grad_fn=<MseLossBackward0>)"
