"""mamba.py: the parallel scan, the sequential one, a language model, Jamba and vision Mamba, three steps each."""

import torch
from mambapy.jamba import JambaLM, JambaLMConfig
from mambapy.lm import LM
from mambapy.mamba import Mamba, MambaConfig
from mambapy.vim import MambaConfig as VisionConfig, VMamba

F = torch.nn.functional


def train(name, model, loss_of):
    """Three steps."""
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(3):
        loss = loss_of(model)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(name, f"{loss.item():.6f}")


x = torch.randn(2, 20, 16)
words = torch.randint(1, 50, (2, 17))
scans = Mamba(MambaConfig(d_model=16, n_layers=2))
train("parallel", scans, lambda model: (model(x) ** 2).mean())
caches = [(None, torch.zeros(2, 32, 3)) for _ in range(2)]
with torch.no_grad():
    for t in range(4):
        y, caches = scans.step(x[:, t], caches)
    assert (scans(x)[:, 3] - y).abs().max() < 1e-5
train(
    "one by one",
    Mamba(MambaConfig(d_model=16, n_layers=2, pscan=False, inner_layernorms=True)),
    lambda m: (m(x) ** 2).mean(),
)
train(
    "words",
    LM(MambaConfig(d_model=16, n_layers=2), 50),
    lambda m: F.cross_entropy(m(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten()),
)
jamba = JambaLM(
    JambaLMConfig(
        vocab_size=50,
        d_model=16,
        n_layers=4,
        mlp_size=32,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_experts=4,
        num_experts_per_tok=2,
        attn_layer_period=2,
        attn_layer_offset=1,
        expert_layer_period=2,
        expert_layer_offset=1,
    )
)
train("jamba", jamba, lambda m: F.cross_entropy(m(words)[0][:, :-1].flatten(0, 1), words[:, 1:].flatten()))
train("vision", VMamba(VisionConfig(d_model=16, n_layers=2)), lambda m: (m(x) ** 2).mean())
