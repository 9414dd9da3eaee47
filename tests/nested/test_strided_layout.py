"""Nested tensors of the strided layout: components that differ in any dims, over one buffer."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch


def _made(requires_grad: bool = False) -> Any:
    parts = [torch.arange(6.0).view(2, 3), torch.arange(4.0).view(1, 4)]
    return torch.nested.nested_tensor(parts, requires_grad=requires_grad)


def test_sizes() -> None:
    n = _made()
    assert (n.dim(), n.size(0), n.numel(), len(n)) == (3, 2, 10, 2)
    assert n._nested_tensor_size().tolist() == [[2, 3], [1, 4]]
    assert n._nested_tensor_strides().tolist() == [[3, 1], [4, 1]]
    assert n._nested_tensor_storage_offsets().tolist() == [0, 6]
    assert n.is_contiguous() and not n.transpose(1, 2).is_contiguous()
    with pytest.raises(RuntimeError, match="Given dimension 1 is irregular and does not have a size"):
        n.size(1)
    with pytest.raises(RuntimeError, match="NestedTensorImpl doesn't support sizes"):
        n.size()
    assert repr(torch.nested.nested_tensor([torch.tensor(1.0)])) == "nested_tensor([\n  tensor(1.)\n])"
    with pytest.raises(TypeError, match="Only lists"):
        torch.nested.nested_tensor(torch.ones(2, 2))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="Found dimension 1 for Tensor at index 1 and dimension 0 for"):
        torch.nested.nested_tensor([torch.tensor(1.0), torch.ones(2)])


def test_views_share_the_buffer() -> None:
    n = _made()
    n[0].fill_(7.0)
    n.transpose(1, 2)[1][0] = 9.0
    assert n.values().tolist() == [7.0] * 6 + [9.0, 1.0, 2.0, 3.0]
    assert n.select(2, 0).unbind()[1].tolist() == [9.0]
    even = torch.nested.nested_tensor([torch.ones(2, 6), torch.ones(3, 6)])
    assert [tuple(p.shape) for p in even.view(2, -1, 3, 2).unbind()] == [(2, 3, 2), (3, 3, 2)]
    halves: Any = even.chunk(2, -1)
    assert halves[1]._nested_tensor_strides().tolist() == [[6, 1], [6, 1]]
    assert halves[1]._nested_tensor_storage_offsets().tolist() == [3, 15]
    with pytest.raises(RuntimeError, match=r"shape '\[2, -1, 2\]' is invalid for input of size 6"):
        n.view(2, -1, 2)


def test_ops() -> None:
    n = _made()
    assert (n + n * 2).unbind()[1].tolist() == [[0.0, 3.0, 6.0, 9.0]]
    assert torch.equal(n @ n.transpose(1, 2), torch.bmm(n, n.transpose(1, 2)))
    assert n.sum(-1, keepdim=True).unbind()[0].tolist() == [[3.0], [12.0]]
    padded = n.to_padded_tensor(-1.0)
    assert padded.tolist() == [[[0, 1, 2, -1], [3, 4, 5, -1]], [[0, 1, 2, 3], [-1, -1, -1, -1]]]
    rebuild: Any = torch._nested_from_padded
    again = rebuild(padded, n._nested_tensor_size())
    assert torch.equal(again, n) and torch.equal(pickle.loads(pickle.dumps(n)), n)
    refused: dict[str, Callable[[], Any]] = {
        "add does not support broadcasting": lambda: n + n.transpose(1, 2),
        "div requires strides to match": lambda: _square() / _square().transpose(1, 2),
        "got a nested self and non-nested other": lambda: n * torch.ones(3),
        "must be contiguous to get buffer": lambda: torch.relu(n.transpose(1, 2)),
        "Cannot apply softmax across nested dimension 0": lambda: n.softmax(0),
        "dimension 0 cannot be transposed": lambda: n.transpose(0, 1),
    }
    for text, call in refused.items():
        with pytest.raises(RuntimeError, match=text):
            call()


def _square() -> Any:
    return torch.nested.nested_tensor([torch.ones(2, 2), torch.ones(3, 3)])


def test_gradients() -> None:
    n = _made(requires_grad=True)
    (n * 2).backward(torch.ones_like(n).detach())
    assert [part.tolist() for part in n.grad.unbind()] == [[[2.0] * 3] * 2, [[2.0] * 4]]
    a, b = torch.rand(2, 3, requires_grad=True), torch.rand(1, 4, requires_grad=True)
    torch.nested.as_nested_tensor([a, b]).transpose(1, 2).softmax(-1)[0][0, 0].backward()
    assert a.grad is not None and a.grad[:, 1:].abs().sum() == 0 and a.grad[0, 0] > 0
    assert b.grad is not None and not b.grad.any()


def test_rows_of_a_tensor_are_views() -> None:
    whole = torch.randn(2, 3, 4)
    for layout in (torch.strided, torch.jagged):
        n: Any = torch.nested.as_nested_tensor(whole, layout=layout)
        assert n._is_view() and n._base is whole
        assert torch.nested.as_nested_tensor(n, layout=layout) is n
        with pytest.raises(RuntimeError, match=r"Expected tensor argument to have dim\(\) > 1"):
            torch.nested.as_nested_tensor(torch.ones(3), layout=layout)
    with pytest.raises(RuntimeError, match="Converting between nested tensor layouts is not supported"):
        torch.nested.as_nested_tensor(n, layout=torch.strided)


def test_slices_of_sizes_keep_the_symbol() -> None:
    n: Any = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged)
    assert n.view(*n.size()[:2], 2, 2).size(1) is n.size(1)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.parametrize("weights_only", [True, False])
def test_files_are_pytorchs(layout: Any, weights_only: bool) -> None:
    parts = [torch.ones(2, 3), torch.full((1, 3), 2.0)]
    nested: Any = torch.nested.nested_tensor(parts, layout=layout, requires_grad=True)
    file = io.BytesIO()
    torch.save(nested, file)
    own = b"torch._utils\n_rebuild_nested_tensor"
    jagged = b"torch.nested._internal.nested_tensor\n_rebuild_njt"
    with zipfile.ZipFile(file) as packed:
        written = next(packed.read(name) for name in packed.namelist() if name.endswith("data.pkl"))
    assert (own if layout is torch.strided else jagged) in written
    file.seek(0)
    found: Any = torch.load(file, weights_only=weights_only)
    assert found.layout is layout
    assert found.requires_grad
    for got, part in zip(found.unbind(), parts, strict=True):
        assert torch.equal(got, part)


def test_components_of_a_file_may_have_lengths() -> None:
    import rushlight.nested.tensor as jagged

    made = jagged._rebuild_njt(
        {"values": torch.arange(6), "offsets": torch.tensor([0, 3, 6]), "lengths": torch.tensor([2, 1])}
    )
    assert [part.tolist() for part in made.unbind()] == [[0, 1], [3]]


def test_sizes_are_those_of_components() -> None:
    a, b = _made(), torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(2, 3)])
    assert a.is_same_size(_made())
    assert not a.is_same_size(b)
    parts = [torch.ones(2, 3), torch.ones(1, 3)]
    jagged: list[Any] = [torch.nested.nested_tensor(parts, layout=torch.jagged) for _ in range(2)]
    assert jagged[0].is_same_size(jagged[0] * 2)
    assert not jagged[0].is_same_size(jagged[1])


def test_sizes_are_compared_with_those_of_nested_tensors() -> None:
    nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])
    with pytest.raises(RuntimeError, match="Self is not nested. While Other is nested"):
        torch.zeros(2).is_same_size(nested)
    with pytest.raises(RuntimeError, match="Self is nested. While Other is not nested"):
        nested.is_same_size(torch.zeros(2))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((2, -1, -2), "invalid shape dimension -2"),
        ((2, 2, 2, -1, -1), "only one dimension can be inferred"),
        ((2, -1, -1, 1), "only one dimension can be inferred"),
        ((2, -1, 2, -1), "nested tensor does not infer shape"),
        ((), r"shape '\[\]' is invalid for a nested tensor"),
    ],
)
def test_which_sizes_of_a_view_are_refused(shape: tuple[int, ...], words: str) -> None:
    x = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)])
    for name in ("view", "reshape"):
        with pytest.raises(RuntimeError, match=words):
            getattr(x, name)(shape)


def test_clones_are_of_two_formats() -> None:
    x = _made()
    for form in (torch.preserve_format, torch.contiguous_format):
        assert x.clone(memory_format=form).is_nested
    with pytest.raises(RuntimeError, match="called clone with memory format: ChannelsLast3d"):
        x.clone(memory_format=torch.channels_last_3d)
