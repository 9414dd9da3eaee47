"""litgpt: eight families of language models, small: training steps, answers with a cache of keys, LoRA."""

import litgpt.lora
import torch
from litgpt.generate.base import generate
from litgpt.model import GPT, Config

small = {"n_layer": 2, "n_embd": 64, "n_head": 4, "head_size": 16, "padded_vocab_size": 101, "block_size": 32}
torch.manual_seed(0)
tokens = torch.randint(0, 101, (2, 16))


def steps(name, model, rate):
    """Three steps of a model on the tokens."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=rate)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, round(loss.item(), 4))


for name, groups in {
    "pythia-14m": None,
    "Llama-3.2-1B": 2,
    "Gemma-2-2b": 2,
    "phi-2": None,
    "Qwen2.5-0.5B": 2,
    "Mixtral-8x7B-v0.1": 2,
    "OLMo-1B-hf": None,
    "falcon-7b": None,
}.items():
    torch.manual_seed(0)
    model = GPT(Config.from_name(name, **small, n_query_groups=groups, intermediate_size=96))
    steps(name, model, 1e-3)
    model.eval()
    with torch.no_grad():
        model.max_seq_length = 32
        model.set_kv_cache(1)
        torch.manual_seed(1)
        answer = generate(model, tokens[0], 28, temperature=0.8, top_k=20, include_prompt=False)
    print(name, answer.tolist())

torch.manual_seed(0)
parts = {f"lora_{part}": True for part in ("query", "value", "projection", "mlp")}
config = litgpt.lora.Config.from_name(
    "pythia-14m", **small, lora_r=4, lora_alpha=8, lora_dropout=0.0, **parts
)
model = litgpt.lora.GPT(config)
litgpt.lora.mark_only_lora_as_trainable(model)
steps("lora", model, 1e-2)
litgpt.lora.merge_lora_weights(model)
print("merged", model(tokens).double().abs().sum().item())
