"""vector-quantize-pytorch: codebooks by k-means, residual, finite scalars, lookup free."""

import torch
from vector_quantize_pytorch import FSQ, LFQ, RandomProjectionQuantizer, ResidualVQ, VectorQuantize

torch.manual_seed(0)
x = torch.randn(2, 12, 16, requires_grad=True)
for name, vq in (
    ("vq", VectorQuantize(dim=16, codebook_size=24, decay=0.8, commitment_weight=1.0)),
    ("cosine", VectorQuantize(dim=16, codebook_size=24, use_cosine_sim=True)),
    ("kmeans", VectorQuantize(dim=16, codebook_size=8, kmeans_init=True, kmeans_iters=4)),
    ("ortho", VectorQuantize(dim=16, codebook_size=24, orthogonal_reg_weight=1.0)),
    ("rotation", VectorQuantize(dim=16, codebook_size=24, rotation_trick=True)),
):
    for _ in range(2):
        q, i, loss = vq(x)
    (q.pow(2).mean() + loss.sum()).backward()
    print(
        name,
        f"{q.sum().item():.4f}",
        i.flatten().tolist()[:8],
        f"{loss.sum().item():.5f} {x.grad.abs().sum().item():.4f}",
    )
r = ResidualVQ(dim=16, num_quantizers=3, codebook_size=16, shared_codebook=True)
q, i, loss = r(x)
print("residual", f"{q.sum().item():.4f}", i.shape, loss.shape)
f = FSQ([5, 4, 3])
q, i = f(torch.randn(2, 6, 3))
print("fsq", f"{q.sum().item():.4f}", i.flatten().tolist(), torch.equal(f.indices_to_codes(i), q))
free = LFQ(codebook_size=16, dim=4, entropy_loss_weight=0.1)
q, i, e = free(torch.randn(2, 6, 4))
print("lfq", f"{q.sum().item():.4f}", i.flatten().tolist(), f"{e.item():.4f}")
print(
    "random",
    RandomProjectionQuantizer(dim=16, num_codebooks=2, codebook_dim=4, codebook_size=8)(x.detach())
    .flatten()
    .tolist(),
)
