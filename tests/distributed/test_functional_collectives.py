"""Collectives that give a new tensor, by the backend that only pretends: shapes, values, gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import _functional_collectives as funcol
from rushlight.distributed.device_mesh import init_device_mesh


@pytest.fixture
def mesh() -> Iterator[Any]:
    dist.init_process_group("fake", rank=1, world_size=2, store=dist.HashStore())
    yield init_device_mesh("cpu", (2,))
    dist.destroy_process_group()


def test_results_and_gradients(mesh: Any) -> None:
    x = torch.arange(8.0).reshape(4, 2).requires_grad_()
    for group in (mesh, (mesh, 0), [0, 1], dist.group.WORLD, dist.group.WORLD.group_name):
        assert funcol.all_reduce(x, "sum", group).tolist() == x.tolist()
    rows, columns = funcol.all_gather_tensor(x, 0, mesh), funcol.all_gather_tensor(x, 1, mesh)
    assert rows.tolist() == torch.cat([x, x]).tolist() and columns.tolist() == torch.cat([x, x], 1).tolist()
    part = funcol.reduce_scatter_tensor(x, "avg", 1, mesh)
    assert part.tolist() == x[:, 1:].tolist()
    swapped = funcol.all_to_all_single(x, [1, 3], [3, 1], mesh)
    assert swapped.shape == x.shape and funcol.wait_tensor(swapped) is swapped
    (grad,) = torch.autograd.grad(columns.sum(), x)
    assert grad.tolist() == [[1.0, 1.0]] * 4  # of the backend that pretends: this rank's own
    assert funcol.permute_tensor(x, [1, 0], mesh).shape == x.shape
    assert [t.shape for t in funcol.reduce_scatter_tensor_coalesced([x, x], "sum", [0, 1], mesh)] == [
        (2, 2),
        (4, 1),
    ]


def test_shapes_alone(mesh: Any) -> None:
    x = torch.empty(4, 2, device="meta")
    assert funcol.all_gather_tensor(x, 1, mesh).shape == (4, 4)
    assert funcol.reduce_scatter_tensor(x, "sum", 0, mesh).shape == (2, 2)


def test_errors(mesh: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="Unrecognized reduce_op: foo"):
        funcol.all_reduce(x, "foo", mesh)
    with pytest.raises(AssertionError, match="must be a multiple of group_size 2"):
        funcol.reduce_scatter_tensor(x, "sum", 0, mesh)
    with pytest.raises(RuntimeError, match="all_reduce backward only supports 'sum' reduction, got 'max'"):
        funcol.all_reduce(x, "max", mesh).sum().backward()
    with pytest.raises(AssertionError, match="both set to None"):
        funcol.all_to_all_single(x, [1, 2], None, mesh)
    with pytest.raises(ValueError, match="Unsupported group type"):
        funcol.all_reduce(x, "sum", 3)
