"""Export beside real tensors: what programs' ops say of themselves, decisions by numbers, tensors of numbers."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._functorch import config
from rushlight._subclasses.fake_tensor import FakeTensorMode, MetadataMismatchError


class Calls(torch.nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def exported(function: Any, *args: Any, **options: Any) -> Any:
    return torch.export.export(Calls(function), args, **options)


def checked(function: Any, *args: Any, **options: Any) -> Any:
    with config.patch(fake_tensor_propagate_real_tensors=True):
        return exported(function, *args, **options)


def op(name: str, function: Any, fake: Any = None, mutates: Any = ()) -> Any:
    made = torch.library.custom_op(f"realt::{name}", function, mutates_args=mutates)
    if fake is not None:
        made.register_fake(fake)
    return made


def writing(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    y.add_(1)
    return x.clone()


def same(x: torch.Tensor) -> torch.Tensor:
    return x


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_ops_that_are_not_what_they_say() -> None:
    x = torch.randn(4, 8)
    with pytest.raises(RuntimeError, match="for argument 'y'"):
        checked(op("writes", writing, lambda x, y: x.clone()), x, x.clone())
    checked(op("writes_so", writing, lambda x, y: x.clone(), ["y"]), x, x.clone())
    with pytest.raises(RuntimeError, match="may not alias any inputs"):
        checked(op("same", same, lambda x: x.clone()), x)
    with pytest.raises(MetadataMismatchError, match="an aliasing mismatch"):
        checked(op("alias", doubled, same), x)
    with pytest.raises(MetadataMismatchError, match="a metadata mismatch"):
        checked(op("dtype", doubled, lambda x: x.new_empty(x.shape, dtype=torch.int32)), x)
    exported(op("without", doubled, same), x)  # unless it is asked for, nothing is compared


def test_sizes_that_fake_functions_tell() -> None:
    turned = op("turned", doubled, lambda x: torch.empty(x.shape[1], x.shape[0]))
    with pytest.raises(MetadataMismatchError, match=r"fake shape 8 and real shape 4, at output\.size\(0\)"):
        checked(turned, torch.randn(4, 8))
    dims = {"args": ((torch.export.Dim("a"), torch.export.Dim("b")),)}
    with pytest.raises(MetadataMismatchError, match=r"fake shape s\d+ and real shape 4"):
        checked(turned, torch.randn(4, 8), dynamic_shapes=dims)


def test_results_of_which_nothing_can_be_inferred() -> None:
    def behind(x: torch.Tensor) -> torch.Tensor:
        return x.repeat(4)[4:]

    def apart(x: torch.Tensor) -> torch.Tensor:
        return x.new_ones(3, 3).diagonal()

    with pytest.raises(RuntimeError, match="non-zero storage offset 4"):
        checked(op("behind", behind), torch.randn(4))
    with pytest.raises(RuntimeError, match="not dense in memory"):
        checked(op("apart", apart), torch.randn(4))


def test_decisions_by_numbers_are_asserted() -> None:
    made = checked(lambda x: bool(x.eq(0.1).any()), torch.randn(64))
    assert made.module()(torch.randn(64)) is False


def test_tensors_made_of_numbers() -> None:
    made = exported(
        lambda u, z, b: (torch.tensor([u.item(), 1]), torch.tensor(z.item()), torch.tensor([[b.item()]])),
        *(torch.tensor([3]), torch.tensor([3.5]), torch.tensor([True])),
    )
    found = made.module()(torch.tensor([5]), torch.tensor([-1.5]), torch.tensor([False]))
    assert [t.tolist() for t in found] == [[5, 1], -1.5, [[False]]]
    assert [t.dtype for t in found] == [torch.int64, torch.float32, torch.bool]


def test_factories_of_symbolic_sizes() -> None:
    made = exported(doubled, torch.randn(5, 2), dynamic_shapes={"args": ((torch.export.Dim("n"), None),)})
    fake = next(n for n in made.graph.nodes if n.op == "placeholder").meta["val"]
    mode: FakeTensorMode = fake.fake_mode
    with mode:
        n, k = fake.shape
        assert str(torch.empty(k, n).shape) == f"torch.Size([2, {n}])"
        assert str(torch.zeros(n, k).stride()) == "(2, 1)"
