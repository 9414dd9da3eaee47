"""lucidrains' memories and sparse attention: reformer, sinkhorn, titans, product keys, experts by retrieval."""

import torch
from axial_positional_embedding import AxialPositionalEmbedding
from iTransformer import iTransformer
from native_sparse_attention_pytorch import SparseAttention
from PEER_pytorch import PEER
from product_key_memory import PKM
from recurrent_memory_transformer_pytorch import RecurrentMemoryTransformer
from reformer_pytorch import ReformerLM
from sinkhorn_transformer import SinkhornTransformerLM
from titans_pytorch import NeuralMemory

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


def show(name, module, out):
    out = out[0] if isinstance(out, tuple) else out
    out.double().pow(2).mean().backward()
    given = sum(float(p.grad.double().abs().sum()) for p in module.parameters() if p.grad is not None)
    print(name, tuple(out.shape), f"{out.double().abs().mean().item():.6f}", f"{given:.5g}")


words = torch.randint(0, 50, (1, 64))
reformer = ReformerLM(
    num_tokens=50, dim=32, depth=2, max_seq_len=64, heads=2, bucket_size=8, n_hashes=2, causal=True
)
show("reformer", reformer, reformer(words))
sinkhorn = SinkhornTransformerLM(
    num_tokens=50, dim=32, heads=2, depth=2, max_seq_len=64, bucket_size=16, reversible=True
)
show("sinkhorn", sinkhorn, sinkhorn(words))
titans = NeuralMemory(dim=16, chunk_size=8)
show("titans", titans, titans(torch.randn(1, 24, 16)))
series = iTransformer(
    num_variates=5, lookback_len=12, dim=16, depth=2, heads=2, dim_head=8, pred_length=(3, 6)
)
show("itransformer", series, series(torch.randn(2, 12, 5))[6])
recurrent = RecurrentMemoryTransformer(
    num_tokens=50, num_memory_tokens=4, dim=16, depth=2, dim_head=8, heads=2, seq_len=32, use_flash_attn=False
)
_, memory, _ = recurrent(words[:, :32])
show("recurrent", recurrent, recurrent(words[:, 32:], memory)[0])
peer = PEER(dim=16, heads=2, num_experts=64, num_experts_per_head=4, dim_key=8, pre_rmsnorm=True)
show("peer", peer, peer(torch.randn(2, 8, 16)))
sparse = SparseAttention(
    dim=32,
    dim_head=8,
    heads=2,
    sliding_window_size=4,
    compress_block_size=4,
    compress_block_sliding_stride=2,
    selection_block_size=4,
    num_selected_blocks=2,
)
show("sparse", sparse, sparse(torch.randn(1, 17, 32)))
keys = PKM(dim=16, heads=2, dim_head=8, num_keys=8, topk=3)
show("keys", keys, keys(torch.randn(2, 6, 16)))
places = AxialPositionalEmbedding(dim=16, axial_shape=(4, 8))
show("places", places, places(torch.randn(1, 32, 16)))
