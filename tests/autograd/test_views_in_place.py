"""Writes through views: those that are refused, and gradients where the view itself is changed in place."""

import pytest

import rushlight as torch

SEVERAL = "output of a function that returns multiple views"


@pytest.mark.parametrize(
    "cut",
    [lambda x: x.unbind(0), lambda x: x.split(1), lambda x: x.chunk(2), lambda x: x.split([1, 1])],
    ids=["unbind", "split", "chunk", "sizes"],
)
def test_one_of_several_views_of_what_is_not_tracked(cut):
    tracked = torch.rand(2, requires_grad=True)
    for _ in range(4):  # the later ones by the row's plan
        part = cut(torch.zeros(2, 2))[0]
        part.mul_(2)
        with pytest.raises(RuntimeError, match=SEVERAL):
            part.add_(tracked)
        with pytest.raises(RuntimeError, match=SEVERAL):
            part.copy_(tracked)
    x = torch.zeros(2, 2)
    row = x.select(0, 0)
    row.copy_(tracked)
    assert x.grad_fn.name().endswith("CopySlices")


@pytest.mark.parametrize(
    "cut",
    [
        lambda x: torch.unsafe_split(x, 1),
        lambda x: torch.unsafe_chunk(x, 2),
        lambda x: torch.unsafe_split_with_sizes(x, [1, 1]),
    ],
    ids=["split", "chunk", "sizes"],
)
def test_unsafe_splits_may_be_written_to(cut):
    x = torch.tensor([[1.0, 2], [3, 4]], requires_grad=True)
    first, second = cut(x.clone())
    first.mul_(3)
    (first + 2 * second).sum().backward()
    assert x.grad.tolist() == [[3, 3], [2, 2]] and not first._is_view()
    x.grad = None
    cut(x)[1].sum().backward()
    assert x.grad.tolist() == [[0, 0], [1, 1]]


def test_views_of_views_that_were_taken_where_nothing_is_recorded():
    for base in (torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True) * 2):
        with torch.no_grad():
            taken = base[0:1]
        view = taken.view(1)
        with pytest.raises(
            RuntimeError, match="Output 0 of View is a view of a view which was created in no_grad"
        ):
            view.mul_(2)


def test_a_view_that_is_transposed_in_place():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x.clone()[0:1]
    y.t_()
    y.mul_(torch.tensor([[1.0], [2], [3]]))
    y.unsqueeze_(0)
    y.sum().backward()
    assert x.grad.tolist() == [[1, 2, 3], [0, 0, 0]]


def test_views_of_inference_tensors_are_no_views():
    with torch.inference_mode():
        c = torch.ones(2, 3)
    assert not c.view(-1)._is_view() and c.view(-1)._base is None


def test_what_cannot_be_deleted_or_assigned():
    x = torch.ones(2, requires_grad=True)
    for name in ("data", "requires_grad", "_grad_fn"):
        with pytest.raises(RuntimeError, match="cannot be deleted"):
            delattr(x, name)
    with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
        x.data = torch.ones(2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        torch.ones(2).data = torch.ones(2).to_sparse()


def test_resizing_counts_as_a_write():
    x = torch.rand(1)
    x.resize_(1, 2)
    assert x._version == 1
    x.resize_(1, 2)
    assert x._version == 1


def test_a_gradient_in_another_order_than_the_base():
    def gradient(g):
        x = torch.arange(12.0).reshape(3, 4).requires_grad_()
        own = x * 2
        own.view(-1)[3:7].mul_(x.view(-1)[:4])
        own.t()[1:3].zero_()
        own.backward(g)
        return x.grad

    g = torch.arange(1.0, 13.0).reshape(4, 3).t()
    assert g.stride() == (1, 3)
    found = gradient(g)
    assert torch.equal(found, gradient(g.contiguous()))
    assert found.tolist() == gradient(g.contiguous()).tolist()
