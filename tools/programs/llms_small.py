"""LLMs-from-scratch: GPT, Llama 3 and Qwen 3 with and without caches and experts, LoRA, training, generation."""

import torch
from llms_from_scratch import appendix_e, ch03, ch04, llama3, qwen3
from llms_from_scratch.ch05 import generate
from llms_from_scratch.kv_cache import gpt2 as gpt_cached, llama3 as llama_cached, qwen3 as qwen_cached
from llms_from_scratch.kv_cache.generate import generate_text_simple as generate_cached

GPT = {
    "vocab_size": 97,
    "context_length": 32,
    "emb_dim": 48,
    "n_heads": 4,
    "n_layers": 2,
    "drop_rate": 0.1,
    "qkv_bias": False,
}
LLAMA = {
    "vocab_size": 97,
    "context_length": 64,
    "emb_dim": 64,
    "n_heads": 4,
    "n_layers": 2,
    "hidden_dim": 96,
    "n_kv_groups": 2,
    "rope_base": 500000.0,
    "dtype": torch.float32,
    "rope_freq": {
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_context_length": 32,
    },
}
QWEN = LLAMA | {"rope_base": 1e6, "head_dim": 16, "qk_norm": True}
EXPERTS = QWEN | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 48}
ids, wanted = torch.randint(0, 97, (2, 16)), torch.randint(0, 97, (2, 16))


def adapted():
    model = ch04.GPTModel(GPT)
    for p in model.parameters():
        p.requires_grad = False
    appendix_e.replace_linear_with_lora(model, rank=4, alpha=8)
    return model


def train(name, make):
    torch.manual_seed(0)
    model = make()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-3)
    for _ in range(4):
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), wanted.flatten())
        loss.backward()
        opt.step()
        print(name, f"{float(loss.detach()):.6f}")
    print(name, f"{sum(float(p.detach().abs().sum()) for p in model.parameters()):.4f}")


train("gpt", lambda: ch04.GPTModel(GPT))
train("gpt fast", lambda: ch04.GPTModelFast(GPT))
train("gpt cached", lambda: gpt_cached.GPTModel(GPT))
train("lora", adapted)
train("llama", lambda: llama3.Llama3Model(LLAMA))
train("llama fast", lambda: llama3.Llama3ModelFast(LLAMA))
train("qwen", lambda: qwen3.Qwen3Model(QWEN))
train("experts", lambda: qwen3.Qwen3Model(EXPERTS))
x = torch.randn(2, 10, 24)
for layer in (
    ch03.CausalAttention(24, 16, 10, 0.2),
    ch03.MultiHeadAttentionWrapper(24, 16, 10, 0.1, 2),
    ch03.MultiHeadAttention(24, 16, 10, 0.1, 4),
    ch03.PyTorchMultiHeadAttention(24, 24, 4, 0.1, 10),
):
    print(type(layer).__name__, f"{float(layer(x).detach().abs().sum()):.5f}")
model = ch04.GPTModel(GPT).eval()
print(ch04.generate_text_simple(model, ids[:, :6], 12, 32).tolist())
print(generate(model, ids[:1, :6], 12, 32, temperature=1.1, top_k=7).tolist())
for cached in (qwen_cached.Qwen3Model(QWEN), llama_cached.Llama3Model(LLAMA)):
    print(generate_cached(cached.eval(), ids[:, :6], 12, 64).tolist())
