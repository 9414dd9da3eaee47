"""Tensors in shards on two ranks: made, gathered, cut anew, kept as parameters and in checkpoints."""

import sys

import rushlight as torch
import rushlight.distributed as dist
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed._shard import shard_parameter, sharded_tensor
from rushlight.distributed._shard.sharded_tensor import Shard
from rushlight.distributed._shard.sharding_spec import ChunkShardingSpec


def rounded(t):
    return [[round(v, 4) for v in row] for row in t.tolist()]


dist.init_process_group()
rank = dist.get_rank()
rows = ChunkShardingSpec(0, ["rank:0/cpu", "rank:1/cpu"])
ones = sharded_tensor.ones(rows, 5, 3)
print(list(ones.local_tensor().shape), ones.shape, ones.dtype, ones.local_tensor().max().item())
out = torch.empty(5, 3) if rank == 0 else None
ones.gather(0, out)
print("whole", None if out is None else out.sum().item())
own = Shard.from_tensor_and_offsets(torch.full((2, 2), float(rank)), [2 * rank, 0], rank)
made = sharded_tensor.init_from_local_shards([own], 4, 2)
made.reshard(ChunkShardingSpec(1, ["rank:1/cpu", "rank:0/cpu"]))
print(made.local_tensor().tolist(), made.local_shards()[0].metadata.shard_offsets)
layer = torch.nn.Linear(4, 6)
torch.manual_seed(3)
torch.nn.init.uniform_(layer.weight)
shard_parameter(layer, "weight", rows)
weight = layer.state_dict()["weight"].local_tensor()
print("weight", list(weight.shape), rounded(weight)[0])
torch.manual_seed(rank)
drawn = sharded_tensor.rand(rows, 5, 3)
print(drawn.to(torch.float64).dtype, round(drawn.clone().local_tensor()[:2].sum().item() + rank, 1))
try:
    drawn + 1
except RuntimeError as error:
    print(str(error)[-32:-19])
dcp.save({"a": drawn, "n": 3}, checkpoint_id=sys.argv[1])
columns = sharded_tensor.zeros(ChunkShardingSpec(1, ["rank:0/cpu", "rank:1/cpu"]), 5, 3)
state = {"a": columns, "n": 0}
dcp.load(state, checkpoint_id=sys.argv[1])
print("again", rounded(columns.local_tensor()), state["n"])
spread = sharded_tensor.zeros(ChunkShardingSpec(0, ["rank:0", "rank:1", "rank:1"]), 5, 3)
dcp.load({"a": spread}, checkpoint_id=sys.argv[1])
print("parts", [list(shard.tensor.shape) for shard in spread.local_shards()])
for shard in spread.local_shards():
    begin = shard.metadata.shard_offsets[0]
    whole = drawn.local_tensor() if begin < 3 and rank == 0 else None
    assert whole is None or shard.tensor.equal(whole[begin : begin + 2])
chunks = dcp.FileSystemReader(sys.argv[1]).read_metadata().state_dict_metadata["a"].chunks
print([(list(chunk.offsets), list(chunk.sizes)) for chunk in chunks])
dist.destroy_process_group()
