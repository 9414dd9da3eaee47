"""Attention, images and captions of small packages, as their READMEs call them: four steps of each."""

import torch
from aft_pytorch import AFTFull, AFTLocal, AFTSimple
from agent_attention_pytorch import AgentTransformer
from charformer_pytorch import GBST
from coca_pytorch.coca_pytorch import CoCa
from glom_pytorch import Glom
from lambda_networks import LambdaLayer
from MEGABYTE_pytorch import MEGABYTE
from memory_efficient_attention_pytorch import Attention, CosineSimAttention
from memory_efficient_attention_pytorch.flash_attention import FlashAttention
from mmdit import MMDiT
from simple_hierarchical_transformer import HierarchicalTransformer
from slot_attention import SlotAttention
from uformer_pytorch import Uformer


def given(*sizes):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def trained(name, module, loss):
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=1e-3, momentum=0.9)
    losses = []
    for step in range(4):
        torch.manual_seed(step)
        optimizer.zero_grad()
        found = loss(module)
        found.backward()
        optimizer.step()
        losses.append(float(found.detach()))
    gradients = sum(float(p.grad.abs().sum()) for p in module.parameters() if p.grad is not None)
    print(name, *(f"{x:.5e}" for x in losses), f"{gradients:.5e}")


tokens = torch.randint(1, 30, (1, 33), generator=torch.Generator().manual_seed(0))
x, mask = given(1, 40, 16), torch.arange(40)[None] < 33
buckets = {"dim": 16, "dim_head": 8, "heads": 2, "q_bucket_size": 16, "k_bucket_size": 16}
for name, layer in {
    "attention": Attention(causal=True, memory_efficient=True, **buckets),
    "cosine": CosineSimAttention(seq_len=40, memory_efficient=True, **buckets),
    "flash": FlashAttention(causal=True, **buckets),
    "agent": AgentTransformer(dim=16, num_agent_tokens=8, dim_head=8, heads=2, depth=2),
}.items():
    trained(name, layer, lambda m: m(x, mask=mask).square().mean())
free = torch.nn.Sequential(AFTFull(12, 16, 8), AFTSimple(12, 16, 8), AFTLocal(12, 16, 8, s=4))
trained("attention free", free, lambda m: m(given(3, 12, 16)).square().mean())
trained("slots", SlotAttention(num_slots=3, dim=16, iters=2), lambda m: m(given(2, 12, 16)).square().mean())

image = given(1, 3, 16, 16)
small = {"dim_k": 4, "heads": 2, "dim_u": 1}
layers = torch.nn.Sequential(LambdaLayer(8, r=5, **small), LambdaLayer(8, n=8, **small))
trained("lambdas", layers, lambda m: m(given(2, 8, 8, 8)).square().mean())
trained(
    "glom", Glom(dim=16, levels=3, image_size=16, patch_size=4), lambda m: m(image, iters=4).square().mean()
)
uformer = Uformer(dim=8, stages=2, num_blocks=1, window_size=4, dim_head=4, heads=2, ff_mult=2)
trained("uformer", uformer, lambda m: m(image).square().mean())

sizes = {"dim": 16, "dim_head": 8, "heads": 2}
coca = CoCa(img_encoder=None, image_dim=16, num_tokens=30, unimodal_depth=1, multimodal_depth=1, **sizes)
text = tokens.view(3, 11)
trained("captions", coca, lambda m: m(text=text, image_tokens=given(3, 5, 16), return_loss=True))
bytes_ = MEGABYTE(num_tokens=30, dim=(24, 16), depth=(1, 1), max_seq_len=(8, 4), heads=2, dim_head=8)
trained("bytes", bytes_, lambda m: m(tokens[:, :20], return_loss=True))
tree = {"hierarchies": (1, 2), "window_sizes": (8, None), "use_flash_attn": False}
levels = HierarchicalTransformer(num_tokens=30, depth=2, seq_len=32, **tree, **sizes)
trained("hierarchy", levels, lambda m: m(tokens, return_loss=True)[0])
blocks = GBST(num_tokens=30, dim=16, max_block_size=4, downsample_factor=4, score_consensus_attn=True)
trained("blocks", blocks, lambda m: m(tokens, mask=torch.ones(1, 33).bool())[0].square().mean())

mixed = MMDiT(depth=2, dim_text=24, dim_image=16, dim_cond=12, qk_rmsnorm=True, dim_head=8, heads=2)


def both(m):
    shown = torch.ones(2, 6).bool()
    parts = m(
        text_tokens=given(2, 6, 24), text_mask=shown, image_tokens=given(2, 9, 16), time_cond=given(2, 12)
    )
    return sum(part.square().mean() for part in parts)


trained("text and image", mixed, both)
