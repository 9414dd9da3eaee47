"""x-transformers: decoders, encoders, options, generation."""

import torch
from x_transformers import (
    AutoregressiveWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)

torch.manual_seed(0)
for options in (
    {},
    {"rotary_pos_emb": True},
    {"alibi_pos_bias": True},
    {"use_rmsnorm": True, "ff_glu": True},
    {"attn_qk_norm": True},
    {"attn_kv_heads": 2},
    {"rel_pos_bias": True},
    {"macaron": True},
    {"sandwich_coef": 1},
    {"ff_relu_squared": True},
    {"attn_num_mem_kv": 2},
    {"residual_attn": True},
    {"shift_tokens": 1},
    {"attn_flash": True},
):
    model = AutoregressiveWrapper(
        TransformerWrapper(
            num_tokens=32,
            max_seq_len=64,
            attn_layers=Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **options),
        )
    )
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    x, losses = torch.randint(0, 32, (2, 24)), []
    for _ in range(3):
        loss = model(x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(f"{loss.item():.5f}")
    print(options, losses)
print(model.generate(x[:, :4], 8, temperature=0.8).tolist())
print(model.generate(x[:, :4], 8, temperature=0.0, cache_kv=True).tolist())
vit = ViTransformerWrapper(
    image_size=32, patch_size=8, num_classes=10, attn_layers=Encoder(dim=32, depth=2, heads=4)
)
print(f"{vit(torch.randn(2, 3, 32, 32)).sum().item():.5f}")
seq = XTransformer(
    dim=32,
    enc_num_tokens=16,
    enc_depth=1,
    enc_heads=2,
    enc_max_seq_len=16,
    dec_num_tokens=16,
    dec_depth=1,
    dec_heads=2,
    dec_max_seq_len=16,
)
src, tgt = torch.randint(0, 16, (2, 12)), torch.randint(0, 16, (2, 12))
print(f"{seq(src, tgt, mask=torch.ones_like(src).bool()).item():.5f}")
