"""llama2.c's model.py: training with its optimizer, generation."""

import torch
from model import ModelArgs, Transformer

model = Transformer(
    ModelArgs(dim=32, n_layers=2, n_heads=4, n_kv_heads=2, vocab_size=64, multiple_of=16, max_seq_len=32)
)
opt = model.configure_optimizers(0.1, 1e-3, (0.9, 0.95), "cpu")
for _ in range(6):
    x = torch.randint(0, 64, (4, 33))
    model(x[:, :-1].contiguous(), x[:, 1:].contiguous())
    loss = model.last_loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(f"{loss.item():.5f}")
print(
    model.eval().generate(x[:1, :4], 10, temperature=0.9, top_k=20).tolist(),
    f"{model.estimate_mfu(1, 1.0):.3e}",
)
