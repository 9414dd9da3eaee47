"""Writes to memory that operands, or elements, share: what is refused, warned of, or done."""

import pytest

import rushlight as torch

PLACES, V = [2, 1, 0], [1.0, 2.0, 3.0]
WRITES = {
    "index_put values": lambda i: i.index_put_((i.clone(),), i),
    "index_put indices": lambda i: i.index_put_((i,), i.clone()),
    "setitem": lambda i: i.__setitem__(i, 5),
    "index_copy": lambda i: i.index_copy_(0, i.clone(), i),
    "index_add": lambda i: i.index_add_(0, i, i.clone()),
    "index_fill": lambda i: i.index_fill_(0, i, 4),
    "index_reduce": lambda i: i.index_reduce_(0, i.clone(), i, "prod"),
    "scatter": lambda i: i.scatter_(0, i, 3),
    "scatter_add": lambda i: i.scatter_add_(0, i.clone(), i),
    "scatter_reduce": lambda i: i.scatter_reduce_(0, i, i.clone(), "sum"),
    "put": lambda i: i.put_(i, i.clone()),
}


@pytest.mark.parametrize("name", WRITES)
def test_indices_and_values_lie_apart_from_what_is_written(name):
    with pytest.raises(RuntimeError, match="some elements of the input tensor"):
        WRITES[name](torch.tensor(PLACES))


def test_a_number_to_fill_with_may_come_from_the_tensor():
    for fill in (
        lambda x: x.fill_(x[1]),
        lambda x: x.masked_fill_(x > 0, x[1]),
        lambda x: x.index_fill_(0, torch.tensor(PLACES), x[1]),
    ):
        assert fill(torch.tensor(V)).tolist() == [2.0, 2.0, 2.0]


def test_expanded_memory():
    x, index, values = torch.tensor([1.0]).expand(3), torch.tensor(PLACES), torch.tensor(V)
    for name, write in {
        "index_put_": lambda: x.index_put_((index,), values),
        "masked_fill_": lambda: x.masked_fill_(index > 0, 0.0),
        "index_fill_": lambda: x.index_fill_(0, index, 1.0),
    }.items():
        with pytest.warns(UserWarning, match=f"Use of {name} on expanded tensors is deprecated"):
            write()
    with pytest.raises(RuntimeError, match="more than one element of the written-to"):
        x.index_add_(0, index, values)


@pytest.mark.parametrize("op", [torch.addcmul, torch.addcdiv, torch.lerp], ids=lambda op: op.__name__)
def test_a_pointwise_result_does_not_overlap_operands_in_part(op):
    d = torch.arange(1.0, 19)
    with pytest.raises(RuntimeError, match="some elements of the input tensor"):
        op(d[:9], d[:9].clone(), d[9:], out=d[1:10])
    wanted = op(d[:9], d[9:], d[9:])
    assert torch.equal(op(d[:9], d[9:], d[9:], out=d[:9]), wanted)


def test_dtypes_of_results():
    for of in (torch.bool, torch.int32, torch.float64):
        assert torch.bernoulli(torch.ones(3), out=torch.empty(3, dtype=of)).tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="expected scalar_type Double but found Float"):
        torch.logcumsumexp(torch.ones(3).double(), 0, out=torch.empty(3))


@pytest.mark.parametrize("of", [torch.bfloat16, torch.float16], ids=str)
def test_how_often_short_floats_are_rounded(of):
    x, index, source = torch.ones(1).to(of), torch.zeros(3, dtype=torch.long), torch.full((3,), 1.0078125)
    source = source.to(of)
    product = x.clone().index_reduce_(0, index, source, "prod")
    stepwise = x[0] * source[0] * source[1] * source[2]
    assert product[0] == stepwise
    total = x.clone().scatter_reduce_(0, index, source, "sum")
    assert x.clone().scatter_reduce_(0, index, source, "mean")[0] == total[0] / 4
