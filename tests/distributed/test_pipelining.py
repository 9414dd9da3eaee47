"""Pipelines: what stages on several ranks give, beside PyTorch's; schedules, pieces of batches, modules that are cut."""

import pytest

pytest.importorskip("mpi4py")

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.fsdp import fully_shard
from rushlight.distributed.pipelining import (
    PipelineStage,
    ScheduleInterleavedZeroBubble,
    actions,
    pipe_split,
    pipeline,
)
from rushlight.distributed.pipelining._backward import stage_backward
from rushlight.distributed.pipelining._utils import generate_stage_to_rank_mapping
from rushlight.distributed.pipelining.actions import _Action, _needed
from rushlight.distributed.pipelining.microbatch import (
    TensorChunkSpec,
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from tests.distributed.cases import close, recorded, told


@pytest.mark.parametrize(("name", "arguments", "size"), [("pipes", (), 2), ("pipes4", ("wrapped",), 4)])
def test_ranks_get_what_pytorch_gives_them(name, arguments, size):
    for found, wanted in zip(told("pipes.py", *arguments, size=size), recorded(name), strict=True):
        for case in wanted:
            assert close(found[case], wanted[case]), (case, found[case], wanted[case])


def played(rows, stages):
    """Whether ranks that do this, one thing after the other, come to an end; what was done."""
    done, places = set(), dict.fromkeys(rows, 0)
    split = any(action.computation_type is actions.BACKWARD_WEIGHT for row in rows.values() for action in row)
    while True:
        before = len(done)
        for rank, row in rows.items():
            if places[rank] < len(row):
                needed = _needed(row[places[rank]], stages)
                if not split:
                    whole = actions.FULL_BACKWARD
                    needed = {
                        a if a.computation_type is actions.FORWARD else a._replace(computation_type=whole)
                        for a in needed
                    }
                if needed <= done:
                    done.add(row[places[rank]])
                    places[rank] += 1
        if len(done) == before:
            return all(places[rank] == len(row) for rank, row in rows.items()), done


def every_schedule(ranks, count):
    """(how many stages, what each rank does) of each schedule."""
    twice = 2 * ranks
    several = {
        "gpipe": (ranks, {r: actions.gpipe(r, ranks, count) for r in range(ranks)}),
        "1f1b": (ranks, {r: actions.alternating(r, ranks, count) for r in range(ranks)}),
        "bfs": (twice, {r: actions.breadth_first(r, ranks, twice, count) for r in range(ranks)}),
        "interleaved": (twice, {r: actions.depth_first(r, ranks, twice, count) for r in range(ranks)}),
        "there and back": (twice, actions.there_and_back(ranks, twice, count)),
    }
    several["zero"] = (
        twice,
        {r: actions.split_backwards(actions.depth_first(r, ranks, twice, count, 1), r) for r in range(ranks)},
    )
    return several


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [4, 8, 12])
def test_schedules_wait_for_nothing_that_does_not_come(ranks, count):
    for name, (stages, rows) in every_schedule(ranks, count).items():
        ended, done = played(rows, stages)
        assert ended, name
        assert len(done) == stages * count * (3 if name in ("zero", "there and back") else 2), name


def begun_at_both_ends(rows, place):
    """Play ranks through whose messages wait for both of their ends, and go one after the other; what is left."""
    left = {rank: list(row) for rank, row in rows.items()}
    ends = {"SEND_F": ("RECV_F", 1), "SEND_B": ("RECV_B", -1)}
    while True:
        before = sum(map(len, left.values()))
        for row in left.values():
            while row and row[0].is_compute_op:
                row.pop(0)
            if row and (end := ends.get(row[0].computation_type.value)) is not None:
                stage, _, number, _ = row[0]
                other = left[place[stage + end[1]]]
                if other and repr(other[0]) == f"{stage + end[1]}{end[0]}{number}":
                    row.pop(0)
                    other.pop(0)
        if sum(map(len, left.values())) == before:
            return [row for row in left.values() if row]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("backward", [True, False])
def test_ranks_agree_on_the_order_of_messages(ranks, backward):
    for name, (stages, rows) in every_schedule(ranks, 8).items():
        place = generate_stage_to_rank_mapping(ranks, stages, "v" if name == "there and back" else "loop")
        found = actions.with_transfers(rows, place, backward)
        assert not begun_at_both_ends(found, place), name
        sent = sum("SEND" in repr(action) for row in found.values() for action in row)
        apart = sum(place[n] != place[n + 1] for n in range(stages - 1))
        assert sent == 8 * apart * (1 + backward), name


def test_a_schedule_in_which_nobody_can_go_on_is_an_error():
    rows = {0: [_Action.from_str("0B0"), _Action.from_str("0F0")], 1: [_Action.from_str("1F0")]}
    with pytest.raises(RuntimeError, match="no rank can go on"):
        actions.with_transfers(rows, {0: 0, 1: 1})


class Sharded(torch.nn.Module):
    """A stage of which fully_shard has only a part."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.outer(torch.tanh(self.inner(x)))


def test_weights_gradients_come_late_to_all_parameters_of_a_stage():
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        parts, data = [Sharded(), Sharded()], torch.randn(4, 3)
        torch.nn.Sequential(*parts)(data).square().mean().backward()
        wanted = [p.grad.clone() for part in parts for p in part.parameters()]
        for part in parts:
            part.zero_grad()
        fully_shard(parts[0].inner)
        fully_shard(parts[1], ignored_params=set(parts[1].outer.parameters()))
        stages = [PipelineStage(part, n, 2, "cpu") for n, part in enumerate(parts)]
        schedule = ScheduleInterleavedZeroBubble(stages, 4, loss_fn=lambda found, _: found.square().mean())
        schedule.step(data, target=data)
        for p, grad in zip((p for part in parts for p in part.parameters()), wanted, strict=True):
            found = p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad
            torch.testing.assert_close(found, grad)
    finally:
        dist.destroy_process_group()


def test_actions_are_told_and_read():
    for told_so in ("0F1", "12W3", "3UNSHARD", "1SEND_B2", "2B0"):
        assert repr(_Action.from_str(told_so)) == told_so
    both = _Action.from_str("(0F1;3I0)OVERLAP_F_B")
    assert repr(both) == "(0F1;3I0)OVERLAP_F_B"
    assert _Action.from_str("") is None
    with pytest.raises(RuntimeError, match="Invalid action string: F0"):
        _Action.from_str("F0")


def test_batches_are_cut_and_joined():
    args, kwargs = (torch.arange(12.0).view(6, 2), 3), {"y": torch.arange(6).view(1, 6)}
    specs = {"y": TensorChunkSpec(1)}
    given, named = split_args_kwargs_into_chunks(args, kwargs, 3, None, specs)
    assert [tuple(piece[0].shape) for piece in given] == [(2, 2)] * 3
    assert [piece[1] for piece in given] == [3, 3, 3]
    assert merge_chunks([piece["y"] for piece in named], TensorChunkSpec(1)).equal(kwargs["y"])
    assert merge_chunks([piece[0] for piece in given], None).equal(args[0])
    assert len(split_args_kwargs_into_chunks((torch.ones(2),), {}, 5)[0]) == 2


def test_a_stage_s_backward_gives_gradients_of_inputs():
    layer, x = torch.nn.Linear(3, 2), torch.randn(4, 3, requires_grad=True)
    out = layer(x)
    (found,) = stage_backward((out,), (torch.ones_like(out),), [x])
    assert found.equal(torch.ones(4, 2) @ layer.weight) and x.grad is None
    assert layer.weight.grad is not None


class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = (torch.nn.Linear(3, 3) for _ in range(3))

    def forward(self, x, scale=2.0):
        first = self.one(x)
        pipe_split()
        second = self.two(first)
        pipe_split()
        return self.three(second) + first * scale, second


def test_a_module_is_cut_where_it_says_so():
    module, x = Deep(), torch.randn(4, 3)
    pipe = pipeline(module, (x,))
    assert pipe.num_stages == 3
    for mine, wanted in zip(pipe(x), module(x), strict=True):
        torch.testing.assert_close(mine, wanted)
    assert [sorted(pipe.get_stage_module(n).state_dict()) for n in range(3)] == [
        ["one.bias", "one.weight"],
        ["two.bias", "two.weight"],
        ["three.bias", "three.weight"],
    ]
    with pytest.raises(ValueError, match="Invalid stage index 3!"):
        pipe.get_stage_module(3)


def test_stages_there_and_back():
    assert generate_stage_to_rank_mapping(2, 4, "v") == {0: 0, 1: 1, 2: 1, 3: 0}
    assert generate_stage_to_rank_mapping(2, 4) == {0: 0, 1: 1, 2: 0, 3: 1}
