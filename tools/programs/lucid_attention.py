"""lucidrains' attention: linear, local, performer, reformer, axial, perceiver, rotary and more."""

import torch
from axial_attention import AxialAttention
from g_mlp_pytorch import gMLP
from gsa_pytorch import GSA
from linear_attention_transformer import LinearAttentionTransformer
from linformer import Linformer
from local_attention import LocalAttention
from mlp_mixer_pytorch import MLPMixer
from perceiver_pytorch import Perceiver
from performer_pytorch import Performer
from rotary_embedding_torch import RotaryEmbedding
from siren_pytorch import SirenNet
from soft_moe_pytorch import SoftMoE

torch.manual_seed(0)


def show(name, out):
    out = out[0] if isinstance(out, tuple) else out
    out.double().pow(2).mean().backward()
    print(name, tuple(out.shape), f"{out.double().abs().mean().item():.6f}")


x = torch.randn(2, 16, 32)
show("linformer", Linformer(dim=32, seq_len=16, depth=1, heads=2, k=8)(x))
show("performer", Performer(dim=32, depth=1, heads=2, dim_head=16, causal=False)(x))
show("lineartransformer", LinearAttentionTransformer(dim=32, heads=2, depth=1, max_seq_len=16)(x))
q = torch.randn(2, 2, 16, 8, requires_grad=True)
show("local", LocalAttention(dim=8, window_size=4, causal=True)(q, q, q))
show("axial", AxialAttention(dim=8, dim_index=1, heads=2, num_dimensions=2)(torch.randn(1, 8, 6, 5)))
show("gsa", GSA(dim=8, dim_key=4, heads=2, rel_pos_length=8)(torch.randn(1, 8, 8, 8)))
show("gmlp", gMLP(num_tokens=20, dim=16, depth=2, seq_len=12)(torch.randint(0, 20, (1, 12))))
show(
    "mixer",
    MLPMixer(image_size=16, channels=3, patch_size=4, dim=16, depth=2, num_classes=5)(
        torch.randn(1, 3, 16, 16)
    ),
)
show(
    "perceiver",
    Perceiver(
        input_channels=3,
        input_axis=2,
        num_freq_bands=2,
        depth=1,
        max_freq=4.0,
        num_latents=6,
        latent_dim=16,
        cross_heads=1,
        latent_heads=2,
        num_classes=5,
    )(torch.randn(1, 8, 8, 3)),
)
rotary = RotaryEmbedding(dim=8)
show("rotary", rotary.rotate_queries_or_keys(q))
show("siren", SirenNet(dim_in=2, dim_hidden=16, dim_out=3, num_layers=2)(torch.randn(5, 2)))
show("softmoe", SoftMoE(dim=32, seq_len=16, num_experts=2)(x))
