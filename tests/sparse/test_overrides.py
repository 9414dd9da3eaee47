"""Functions of torch.sparse that modes and traces answer for, and sparse tensors under a mode."""

import rushlight as torch
from rushlight import fx
from rushlight.overrides import TorchFunctionMode


def product(x, y):
    return torch.sparse.addmm(torch.sparse.sum(x), x, torch.sparse.mm(x, y))


def test_they_are_traced():
    x, y = torch.eye(3).to_sparse(), torch.ones(3, 3)
    traced = fx.symbolic_trace(product)
    assert [node.op for node in traced.graph.nodes] == [
        *["placeholder"] * 2,
        *["call_function"] * 3,
        "output",
    ]
    assert traced(x, y).equal(product(x, y)) and traced(x, y).tolist() == [[4.0] * 3] * 3


class Noted(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_is_asked():
    x, y = torch.eye(3).to_sparse(), torch.ones(3, 3)
    with Noted() as noted:
        found = torch.sparse.mm(x, y)
        assert x.is_sparse and not x.requires_grad and tuple(x.shape) == (3, 3)
        twice = x + x
    assert noted.names[0] == "mm" and "add" in noted.names
    assert found.tolist() == [[1.0] * 3] * 3 and twice.to_dense().equal(2 * torch.eye(3))
