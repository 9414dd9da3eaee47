"""Sparse and nested tensors on a device: the CPU's numbers, there."""

from __future__ import annotations

import io

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

MATRIX = torch.arange(12.0).view(3, 4)


def coo(device):
    return torch.tensor([[0.0, 2, 0], [3, 0, 4]], device=device).to_sparse()


def csr(device):
    return coo(device).to_sparse_csr()


def twice(device):
    return torch.sparse_coo_tensor(torch.tensor([[0, 0], [1, 1]]), torch.tensor([1.0, 2.0], device=device))


def embedding(device, step):
    torch.manual_seed(0)
    layer = nn.Embedding(4, 3, sparse=True).to(device)
    layer(torch.tensor([1, 2, 1], device=device)).sum().backward()
    return step(layer)


def stepped(optimizer):
    def step(layer):
        optimizer(layer.parameters(), 0.1).step()
        return layer.weight

    return step


SPARSE = {
    "made": twice,
    "coalesced": lambda d: twice(d).coalesce(),
    "csr_made": lambda d: torch.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], device=d),
    "csc": lambda d: torch.ones(2, 3, device=d).to_sparse_csc(),
    "bsr": lambda d: torch.ones(4, 4, device=d).to_sparse_bsr((2, 2)),
    "zeros": lambda d: torch.zeros(2, 3, layout=torch.sparse_coo, device=d),
    "mm": lambda d: torch.sparse.mm(coo(d), MATRIX.to(d)),
    "csr_mm": lambda d: csr(d) @ MATRIX.to(d),
    "sparse_mm": lambda d: torch.sparse.mm(coo(d), coo(d).t()),
    "bmm": lambda d: torch.bmm(
        torch.eye(3, device=d).expand(2, 3, 3).to_sparse(), MATRIX.to(d).expand(2, 3, 4)
    ),
    "addmm": lambda d: torch.sparse.addmm(torch.ones(2, 4, device=d), coo(d), MATRIX.to(d)),
    "sum": lambda d: torch.sparse.sum(coo(d), 1),
    "softmax": lambda d: torch.sparse.softmax(coo(d), 1),
    "index_select": lambda d: coo(d).index_select(0, torch.tensor([1], device=d)),
    "mask": lambda d: torch.ones(2, 3, device=d).sparse_mask(coo(d)),
    "sampled": lambda d: torch.sparse.sampled_addmm(
        csr(d), torch.ones(2, 4, device=d), torch.ones(4, 3, device=d)
    ),
    "gradient": lambda d: embedding(d, lambda layer: layer.weight.grad),
    "sgd": lambda d: embedding(d, stepped(torch.optim.SGD)),
    "adam": lambda d: embedding(d, stepped(torch.optim.SparseAdam)),
    "moved": lambda d: coo("cpu").to(d),
    "moved_csr": lambda d: csr("cpu").to(d, torch.float64),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse(name):
    here, there = SPARSE[name]("cpu"), SPARSE[name]("cuda")
    assert there.is_cuda and there.layout is here.layout and there.dtype is here.dtype
    for a, b in ((here, there), (here, there.cpu())):
        torch.testing.assert_close(b.to_dense().detach().cpu(), a.to_dense().detach())


def test_a_sparse_tensor_says_where_it_is():
    held = coo("cuda")
    assert repr(held).endswith("device='cuda:0', size=(2, 3), nnz=3, layout=torch.sparse_coo)")
    assert held.type() == "torch.cuda.sparse.FloatTensor" and held.values().is_cuda and held.indices().is_cuda
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"):
        torch.sparse.mm(held, MATRIX)
    with pytest.raises(NotImplementedError, match="'SparseCUDA' backend"):
        held.exp()
    file = io.BytesIO()
    torch.save(held, file)
    for where in ("cuda", "cpu"):
        file.seek(0)
        found = torch.load(file, map_location=where)
        assert found.device.type == where and found.to_dense().cpu().equal(coo("cpu").to_dense())
    layer = nn.Linear(2, 2)
    layer.register_buffer("mask", torch.eye(2).to_sparse())
    assert layer.cuda().mask.is_cuda


def nested(device, layout=torch.jagged):
    parts = [torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3)]
    return torch.nested.nested_tensor(parts, layout=layout, device=device)


def attention(device):
    query = nested(device).unflatten(-1, (1, 3)).transpose(1, 2)
    return F.scaled_dot_product_attention(query, query, query)


NESTED = {
    "padded": lambda d: nested(d).to_padded_tensor(0.0),
    "strided": lambda d: nested(d, torch.strided).to_padded_tensor(0.0),
    "softmax": lambda d: F.softmax(nested(d), -1),
    "norm": lambda d: F.layer_norm(nested(d), (3,)),
    "sum": lambda d: nested(d).sum(1),
    "attention": attention,
    "moved": lambda d: nested("cpu").to(d),
    "cat": lambda d: torch.cat([nested(d), nested(d)]),
}


@pytest.mark.parametrize("name", NESTED)
def test_nested(name):
    here, there = NESTED[name]("cpu"), NESTED[name]("cuda")
    pairs = zip(here.unbind(), there.unbind(), strict=True) if there.is_nested else [(here, there)]
    for a, b in pairs:
        assert b.is_cuda
        torch.testing.assert_close(b.cpu(), a)
    assert not there.is_nested or there.offsets().is_cuda


def test_moving_a_nested_tensor_keeps_its_uneven_size():
    held = nested("cpu")
    moved = held.cuda()
    assert moved.shape[1] is held.shape[1] and (moved + moved).values().is_cuda


def test_export():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)).cuda().eval()
    x = torch.randn(2, 3, 8, 8, device="cuda")
    program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    five = torch.randn(5, 3, 8, 8, device="cuda")
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for loaded in (program, torch.export.load(file)):
        torch.testing.assert_close(loaded.module()(five), model(five))
    assert torch.ops.aten.arange.default(3, device=torch.device("cuda")).is_cuda
    assert torch.ops.aten._to_copy.default(x, device=torch.device("cpu")).device.type == "cpu"
