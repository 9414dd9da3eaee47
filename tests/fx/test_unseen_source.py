"""Calls in code that no file holds are recorded as they were made: what was said by keyword stays so."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch


@pytest.mark.parametrize(
    "call",
    [
        "torch.clamp(a, max = 0)",
        "torch.argsort(a, dim = -1, descending = True)",
        "torch.addbmm(a, b, c, beta = 0.6, alpha = 0.2)",
        "torch._C._linalg.linalg_vector_norm(a, ord = 2, dim = 1)",
        "torch.conv_transpose1d(a, b, groups = 2, dilation = 3)",
        "torch.searchsorted(a, b, side = 'right')",
        "torch.relu(a)",
        "torch.sum(a, 1, keepdim = True)",
        "torch.cat([a, b], dim = 1)",
    ],
)
def test_a_call_in_executed_text(call: str) -> None:
    space: dict[str, Any] = {"torch": torch}
    exec(f"def run(a, b, c):\n    return {call}\n", space)
    graph = torch.fx.symbolic_trace(space["run"])
    assert f"= {call}" in graph.code


def test_the_graph_computes_what_the_text_does() -> None:
    space: dict[str, Any] = {"torch": torch}
    exec("def run(a):\n    return torch.clamp(a, max=0)\n", space)
    x = torch.tensor([-1.0, 2.0])
    assert torch.fx.symbolic_trace(space["run"])(x).tolist() == [-1.0, 0.0]
