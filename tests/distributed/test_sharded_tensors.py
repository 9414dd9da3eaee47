"""torch.distributed._shard: tensors in shards by PyTorch's older way; two ranks, with PyTorch's numbers."""

import sys

import pytest

import rushlight as torch
from rushlight.distributed._shard.sharding_spec import (
    ChunkShardingSpec,
    EnumerableShardingSpec,
    ShardMetadata,
    _infer_sharding_spec_from_shards_metadata,
)
from tests.distributed import jobs

FIRST = """[3, 3] torch.Size([5, 3]) torch.float32 1.0
whole 15.0
[[0.0], [0.0], [1.0], [1.0]] [0, 1]
weight [3, 4] [0.0043, 0.1056, 0.2858, 0.027]
torch.float64 2.4
not supported
again [[0.4963, 0.7682], [0.132, 0.3074], [0.4901, 0.8964], [0.7576, 0.2793], [0.7347, 0.0293]] 3
parts [[2, 3]]
[([0, 0], [3, 3]), ([3, 0], [2, 3])]
"""


def test_two_ranks_hold_shards(tmp_path):
    program = str(jobs.PROGRAMS / "sharded_tensors.py")
    ended = jobs.ranks([sys.executable, program, str(tmp_path)], 2, timeout=120.0)
    assert [one.code for one in ended] == [0, 0], ended[0].err + ended[1].err
    assert ended[0].out == FIRST
    assert "again [[0.0885], [0.6341], [0.4556], [0.4031], [0.7999]] 3" in ended[1].out
    assert "parts [[2, 3], [1, 3]]" in ended[1].out


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ChunkShardingSpec("N", []), NotImplementedError, "does not support named dimension yet"),
        (lambda: EnumerableShardingSpec([]), ValueError, "Empty shard list provided"),
        (
            lambda: EnumerableShardingSpec([ShardMetadata([0, 0], [2, 2]), ShardMetadata([1, 1], [2, 2])]),
            ValueError,
            "overlap",
        ),
        (lambda: ShardMetadata([0], [1, 2]), ValueError, "same number of elements"),
        (lambda: ShardMetadata([-1], [1]), ValueError, "shard_offsets should be >=0"),
    ],
)
def test_what_is_no_shards(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_the_way_is_known_from_the_shards():
    rows = [ShardMetadata([3, 0], [2, 3], "rank:1/cpu"), ShardMetadata([0, 0], [3, 3], "rank:0/cpu")]
    assert _infer_sharding_spec_from_shards_metadata(rows) == ChunkShardingSpec(
        0, ["rank:0/cpu", "rank:1/cpu"]
    )
    other = [ShardMetadata([0, 0], [1, 3], "rank:0/cpu"), ShardMetadata([1, 0], [4, 3], "rank:1/cpu")]
    assert isinstance(_infer_sharding_spec_from_shards_metadata(other), EnumerableShardingSpec)


def test_initializers_ask_classes():
    asked = []

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append((func.__name__, sorted(kwargs)))
            return "answer"

    x = torch.zeros(2, 2).as_subclass(Asked)
    assert torch.nn.init.constant_(x, 3) == "answer"
    for fill in ("uniform_", "normal_", "kaiming_uniform_"):
        getattr(torch.nn.init, fill)(x)
    assert asked == [
        ("constant_", ["tensor", "val"]),
        ("uniform_", ["a", "b", "generator", "tensor"]),
        ("normal_", ["generator", "mean", "std", "tensor"]),
        ("kaiming_uniform_", ["a", "generator", "mode", "nonlinearity", "tensor"]),
    ]


def test_classes_that_lie_below_are_not_asked():
    sparse = torch.ones(2, 2).to_sparse()
    assert not torch.overrides.has_torch_function((sparse,))
    assert torch.overrides.has_torch_function(
        (torch.masked.masked_tensor(torch.ones(1), torch.ones(1).bool()),)
    )
