"""DTensor in one process, by the backend that only pretends: plans that are kept, memory that is shared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.device_mesh import DeviceMesh, init_device_mesh
from rushlight.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, dtensor
from rushlight.distributed.tensor._collective_utils import (
    fill_empty_tensor_to_shards,
    mesh_broadcast,
    mesh_scatter,
    pad_tensor,
    unpad_tensor,
)
from rushlight.distributed.tensor.debug import CommDebugMode
from rushlight.distributed.tensor.parallel import loss_parallel
from tests.distributed.cases import told

F = torch.nn.functional


@pytest.fixture(params=[2])
def mesh(request: Any) -> Iterator[Any]:
    """A mesh of as many ranks, of which this is the first."""
    dist.init_process_group("fake", rank=0, world_size=request.param, store=dist.HashStore())
    yield init_device_mesh("cpu", (request.param,))
    dist.destroy_process_group()


@pytest.fixture
def inferred(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of ops whose plans were made."""
    names: list[str] = []
    made = dtensor.Call

    def noted(func: Any, name: str, *given: Any) -> Any:
        names.append(name)
        return made(func, name, *given)

    monkeypatch.setattr(dtensor, "Call", noted)
    monkeypatch.setattr(dtensor, "_plans", {})
    return names


def test_a_call_like_one_before_is_not_inferred_again(mesh: Any, inferred: list[str]) -> None:
    x = distribute_tensor(torch.randn(4, 6), mesh, [Replicate()])
    w = distribute_tensor(torch.randn(8, 6), mesh, [Shard(0)])
    for _ in range(3):
        found = F.linear(x, w)
        assert found.placements == (Shard(1),) and tuple(found.shape) == (4, 8)
        torch.testing.assert_close(found.to_local(), x.to_local() @ w.to_local().t())
        assert tuple(found.sum(0).shape) == (8,) and tuple(found.sum(1, keepdim=True).shape) == (4, 1)
        assert tuple(found[1:3].shape) == (2, 8)
    assert inferred == ["linear", "sum", "sum", "__getitem__"]


def test_what_plans_depend_on(mesh: Any, inferred: list[str]) -> None:
    x = distribute_tensor(torch.randn(4, 6), mesh, [Replicate()])
    w = distribute_tensor(torch.randn(8, 6), mesh, [Shard(0)])
    F.linear(x, w)
    for others in (
        (x, w.redistribute(mesh, [Replicate()])),
        (x, distribute_tensor(torch.randn(10, 6), mesh, [Shard(0)])),
        (x.double(), w.double()),
        (x, w.detach().requires_grad_()),
    ):
        before = len(inferred)
        F.linear(*others)
        assert len(inferred) == before + 1
    assert (x.view(2, 12).shape, x.view(24).shape) == ((2, 12), (24,))
    again = init_device_mesh("cpu", (2,))
    y = distribute_tensor(torch.randn(8, 6), again, [Shard(0)])
    assert F.linear(x, y).placements == (Shard(1),)  # an equal mesh is the same


def test_gradients_of_planned_calls(mesh: Any) -> None:
    x = distribute_tensor(torch.randn(4, 6), mesh, [Replicate()])
    w = distribute_tensor(torch.randn(8, 6), mesh, [Shard(0)]).requires_grad_()
    for _ in range(2):
        w.grad = None
        F.linear(x, w).to_local().sum().backward()
        torch.testing.assert_close(w.grad.to_local(), x.to_local().sum(0).expand(4, 6))


def _memory(t: Any) -> int:
    return int((t.to_local() if isinstance(t, DTensor) else t).data_ptr())


@pytest.mark.parametrize("tracked", [False, True])
def test_what_does_not_move_is_not_copied(mesh: Any, tracked: bool) -> None:
    for source in (Replicate(), Shard(0), Partial()):
        x = DTensor.from_local(torch.randn(4, 4), mesh, [source]).requires_grad_(tracked)
        for target in (Replicate(), Shard(0), Shard(1)):
            y = x.redistribute(mesh, [target])
            assert (_memory(y) == _memory(x)) == (source == target) and y is not x
            assert y.requires_grad == tracked and (y.grad_fn is not None) == tracked
        assert (_memory(x.full_tensor()) == _memory(x)) == source.is_replicate()


@pytest.mark.parametrize("mesh", [1], indirect=True)
def test_a_mesh_of_one_moves_nothing(mesh: Any) -> None:
    for source in (Replicate(), Shard(0), Partial()):
        x = DTensor.from_local(torch.randn(4, 4), mesh, [source])
        assert _memory(x.redistribute(mesh, [Shard(1)])) == _memory(x.full_tensor()) == _memory(x)


@pytest.mark.parametrize("mesh", [1], indirect=True)
def test_older_words_for_the_reduction_of_loss_parallel(mesh: Any) -> None:
    logits, target = torch.randn(3, 5), torch.tensor([0, 4, 2])
    cut = distribute_tensor(logits, mesh, [Shard(1)])
    for how in ({"size_average": False}, {"reduce": False}, {"size_average": True}, {"reduction": "sum"}):
        with loss_parallel(), pytest.warns() if "reduction" not in how else torch.no_grad():
            found = F.cross_entropy(cut, target, **how)
        with pytest.warns() if "reduction" not in how else torch.no_grad():
            torch.testing.assert_close(found.full_tensor(), F.cross_entropy(logits, target, **how))
    with loss_parallel(), pytest.raises(ValueError, match="is not a valid value for reduction"):
        F.cross_entropy(cut, target, reduction="all")


def test_collectives_are_counted_by_pytorchs_ops(mesh: Any) -> None:
    ops = torch.ops.c10d_functional
    x = DTensor.from_local(torch.randn(4, 8), mesh, [Shard(0)])
    y = DTensor.from_local(torch.randn(4, 32), mesh, [Shard(0)])
    with CommDebugMode() as counted:
        assert torch.mm(x, y).placements == (Shard(0),)  # as PyTorch has it
    assert counted.get_comm_counts() == {ops.all_gather_into_tensor: 1}
    term = DTensor.from_local(torch.randn(4, 8), mesh, [Partial()])
    model = torch.nn.Linear(8, 3)
    with counted:
        term.redistribute(mesh, [Shard(1)])
        model(torch.randn(2, 8))
        dist.all_reduce(torch.ones(2))
    assert counted.get_comm_counts() == {ops.reduce_scatter_tensor: 1, torch.ops.c10d.allreduce_: 1}
    assert counted.get_total_counts() == 2 and list(counted.get_parameter_info()) == ["Linear"]
    assert "all_reduce" in counted.generate_comm_debug_tracing_table().replace("allreduce", "all_reduce")


def test_a_part_that_requires_gradients_may_be_written_to(mesh: Any) -> None:
    local = torch.ones(3, requires_grad=True)
    x = DTensor.from_local(local, mesh, [Shard(0)])
    x.mul_(3)
    x.sum().backward()
    assert local.grad is not None and local.grad.tolist() == [3, 3, 3] and not x.is_leaf


def test_results_go_into_out(mesh: Any) -> None:
    x = distribute_tensor(torch.randn(4, 6), mesh, [Shard(0)])
    out = distribute_tensor(torch.zeros(4, 6), mesh, [Shard(1)])
    assert torch.add(x, x, out=out) is out and out.placements == (Shard(1),)
    alike = distribute_tensor(torch.zeros(4, 6), mesh, [Shard(0)])
    assert torch.add(x, x, out=alike) is alike and alike.to_local().equal(x.to_local() * 2)
    with CommDebugMode() as counted:
        made = x.new_full((3,), 2.0)
    assert made.placements == (Replicate(),) and made.to_local().tolist() == [2, 2, 2]
    assert x.new_zeros((4, 6)).placements == (Shard(0),)
    assert not counted.get_total_counts()


def test_what_is_distributed_is_a_leaf_or_lies_so_already(mesh: Any) -> None:
    x = distribute_tensor(torch.randn(4, 6), mesh, [Shard(0)])
    assert distribute_tensor(x, mesh, [Shard(0)]) is x and x.is_same_size(torch.zeros(4, 6))
    with pytest.raises(ValueError, match="to a different placements"):
        distribute_tensor(x, mesh, [Shard(1)])
    with pytest.raises(RuntimeError, match="distribute leaf tensors"):
        distribute_tensor(torch.ones(4, requires_grad=True) * 2, mesh, [Shard(0)])
    meta = distribute_tensor(torch.empty(4, 6, device="meta"), mesh, [Shard(0)])
    assert meta.redistribute(mesh, [Replicate()]).to_local().shape == (4, 6)


def test_chunks_with_rows_behind_them() -> None:
    chunks, missing = Shard(1)._split_tensor(torch.ones(2, 5), 4)
    assert [tuple(c.shape) for c in chunks] == [(2, 2)] * 4 and missing == [0, 0, 1, 2]
    assert chunks[2].tolist() == [[1, 0], [1, 0]]


def test_specs_are_equal_where_tensors_lie_alike(mesh: Any) -> None:
    x, y = (distribute_tensor(torch.randn(4, 6), mesh, [Shard(0)]) for _ in range(2))
    assert x._spec == y._spec and hash(x._spec) == hash(y._spec) and x._spec.dim_map == [0, -1]
    made = DTensor(torch.ones(2, 6), x._spec, requires_grad=True)
    assert made.shape == (4, 6) and made.requires_grad and made.is_leaf


def test_moves_among_three_ranks() -> None:
    pytest.importorskip("mpi4py")
    assert told("moves.py", size=3) == [[], [], []]


def test_ops_of_two_ranks() -> None:
    pytest.importorskip("mpi4py")
    assert told("dtensor_ops.py") == [[], []]


def test_a_plain_tensor_of_one_element_goes_with_any(mesh: Any) -> None:
    x = DTensor.from_local(torch.ones(2, 3), mesh, [Shard(0)])
    with pytest.warns(UserWarning, match="Found a non-scalar tensor with numel=1"):
        found = x + torch.tensor([1.0])
    assert found.placements == (Shard(0),) and found.to_local().equal(torch.full((2, 3), 2.0))
    with pytest.raises(RuntimeError, match="got mixed torch.Tensor and DTensor"):
        x + torch.ones(3)


def test_meshes_without_names_or_groups(mesh: Any) -> None:
    with pytest.raises(RuntimeError, match="Cannot slice a DeviceMesh without mesh_dim_names"):
        mesh["dp"]
    bare = DeviceMesh("cpu", [0, 1], _init_backend=False)
    with pytest.raises(RuntimeError, match="process groups not initialized"):
        bare.get_group()
    assert bare.get_coordinate() == [0] and hash(bare) == hash(mesh)
    assert hash(DeviceMesh("cpu", [[0, 1]], _init_backend=False)) != hash(mesh)


def test_parts_are_made_equally_long(mesh: Any) -> None:
    x = torch.arange(6.0).view(2, 3)
    padded = pad_tensor(x, 1, 2)
    assert padded.tolist() == [[0, 1, 2, 0, 0], [3, 4, 5, 0, 0]]
    assert unpad_tensor(padded, 1, 2).equal(x) and pad_tensor(x, 0, 0) is x
    found = torch.zeros(3)
    mesh_scatter(found, [x[0], x[1]], mesh)
    mesh_broadcast(found, mesh)
    assert [one.shape[0] for one in fill_empty_tensor_to_shards([x], 0, 2)] == [2, 0, 0]


def test_gradients_that_are_asked_for_are_dtensors(mesh: Any) -> None:
    x = DTensor.from_local(torch.ones(2, 3), mesh, [Shard(0)]).requires_grad_()
    (found,) = torch.autograd.grad((x * x * x).to_local().sum(), x, create_graph=True)
    assert isinstance(found, DTensor) and found.placements == (Shard(0),)
    (again,) = torch.autograd.grad(found.to_local().sum(), x)
    assert isinstance(again, DTensor) and again.to_local().equal(torch.full((2, 3), 6.0))


def test_gradients_that_are_given_lie_as_they_are_needed(mesh: Any) -> None:
    w = DTensor.from_local(torch.ones(2, 3), mesh, [Shard(0)]).requires_grad_()
    x = DTensor.from_local(torch.ones(5, 3), mesh, [Replicate()]).requires_grad_()
    seed = DTensor.from_local(torch.ones(5, 2), mesh, [Shard(1)])
    torch.autograd.backward([F.linear(x, w)], [seed])
    assert isinstance(w.grad, DTensor) and w.grad.to_local().equal(torch.full((2, 3), 5.0))
    (found,) = torch.autograd.grad(F.linear(x, w), w, seed)
    assert isinstance(found, DTensor) and found.to_local().equal(torch.full((2, 3), 5.0))


def test_a_dtype_is_told_by_another_dtensor(mesh: Any) -> None:
    x = DTensor.from_local(torch.ones(2, 3), mesh, [Shard(0)])
    found: Any = x.to(x.double())
    assert isinstance(found, DTensor) and found.dtype is torch.float64 and found.placements == (Shard(0),)


def test_meshes_of_one_world_become_one() -> None:
    dist.init_process_group("fake", rank=2, world_size=4, store=dist.HashStore())
    try:
        whole = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        alone = DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("pp", "tp"))
        other = DeviceMesh("cpu", [0, 1], mesh_dim_names=("tp",))
        found = DeviceMesh._concatenate([whole["dp"], alone["tp"]])
        assert found.mesh.tolist() == [[0, 1], [2, 3]] and found.mesh_dim_names == ("dp", "tp")
        with pytest.raises(RuntimeError, match="Cannot concatenate overlapping meshes"):
            DeviceMesh._concatenate([whole["dp"], alone["pp"]])
        with pytest.raises(RuntimeError, match="derived from different device meshs"):
            DeviceMesh._concatenate([whole["dp"], other])
        with pytest.raises(RuntimeError, match="Slicing overlapping dim_names"):
            whole["tp", "tp"]
    finally:
        dist.destroy_process_group()
