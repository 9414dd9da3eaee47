"""Nested tensors do what PyTorch was recorded to do, and what it does component by component."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight
import rushlight as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from nested_behaviours import NESTED

test_behaviour = NESTED.compared(rushlight)


def test_attention_is_that_of_each_component() -> None:
    parts = [torch.randn(n, 16) for n in (3, 5)]
    layer = torch.nn.Linear(16, 48)
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged)
    q, k, v = (p.unflatten(-1, [2, 8]).transpose(1, 2) for p in layer(nested).chunk(3, -1))
    attend = torch.nn.functional.scaled_dot_product_attention
    found = attend(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
    found.values().sum().backward()
    for part, got in zip(parts, found.unbind()):
        heads = [p.unflatten(-1, [2, 8]).transpose(0, 1) for p in layer(part).chunk(3, -1)]
        assert torch.allclose(attend(*heads, is_causal=True).transpose(0, 1).flatten(-2), got, atol=1e-6)
    assert layer.weight.grad is not None


def test_sizes_are_symbols() -> None:
    a = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    b = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
    assert a.shape[1] == a.clone().shape[1] and a.shape[1] != b.shape[1] and a.shape[2] == 3
    assert a.view(2, a.size(1), 3, 1).dim() == 4
    with pytest.raises(RuntimeError, match=r"cannot call binary pointwise function add"):
        a + b


def test_copies_and_pickles() -> None:
    a = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    for again in (copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert again.is_nested and torch.equal(again.values(), a.values())
        assert torch.equal(again.offsets(), a.offsets())


def test_what_is_not_written_says_so() -> None:
    a = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    with pytest.raises(NotImplementedError, match=r"torch\.sort of a nested tensor.*to_padded_tensor"):
        torch.sort(a)
    with pytest.raises(RuntimeError, match=r"with torch\.jagged they differ in their first alone"):
        torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 5)], layout=torch.jagged)


def test_the_uneven_size_is_a_symbol() -> None:
    nested: Any = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
    assert isinstance(nested.size(1), torch.SymInt)
    assert not isinstance(nested.size(2), torch.SymInt)


def _jagged() -> Any:
    parts = [torch.arange(6.0).view(2, 3), torch.arange(3.0).view(1, 3), torch.ones(3, 3)]
    return torch.nested.nested_tensor(parts, layout=torch.jagged)


def _parts(nested: Any) -> list[Any]:
    return [part.tolist() for part in nested.unbind()]


def test_chunks_are_of_components_unless_a_dim_is_said() -> None:
    nested = _jagged()
    for first, last in (nested.chunk(2), nested.chunk(2, 0)):
        assert _parts(first) + _parts(last) == _parts(nested)
        assert (len(first), len(last)) == (2, 1)
    assert [part.size(2) for part in nested.chunk(2, -1)] == [2, 1]
    with pytest.raises(RuntimeError, match=r"split\(\): not supported for NestedTensor on dim=0"):
        nested.split(2)


def test_sums_over_all_components_keep_their_dim() -> None:
    nested = _jagged()
    assert nested.sum((0, 1), keepdim=True).shape == (1, 1, 3)
    assert nested.sum((0, 1, 2), keepdim=True).shape == (1, 1, 1)
    assert nested.sum((0, 1)).shape == (3,)


def test_even_dims_are_flipped_expanded_and_normed() -> None:
    nested = _jagged()
    assert _parts(nested.flip(-1)) == [part.flip(-1).tolist() for part in nested.unbind()]
    one = nested.sum(-1, keepdim=True)
    wide = one.expand(3, one.size(1), 2)
    assert _parts(wide) == [part.expand(-1, 2).tolist() for part in one.unbind()]
    assert _parts(nested.norm(1, -1)) == [part.norm(1, -1).tolist() for part in nested.unbind()]
    found = torch.nn.functional.normalize(nested, dim=-1)
    for got, part in zip(found.unbind(), nested.unbind(), strict=True):
        torch.testing.assert_close(got, torch.nn.functional.normalize(part, dim=-1))
    with pytest.raises(RuntimeError, match="cannot expand shape"):
        nested.expand(2, 5, 3)


def test_nested_tensors_are_compared() -> None:
    nested = _jagged()
    torch.testing.assert_close(nested, nested * 1)
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        torch.testing.assert_close(nested, nested + 1)
