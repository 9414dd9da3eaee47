"""nanoGPT's model.py: training, generation, a cropped block."""

import torch
from model import GPT, GPTConfig

model = GPT(GPTConfig(block_size=32, vocab_size=40, n_layer=2, n_head=2, n_embd=32, dropout=0.1, bias=False))
opt = model.configure_optimizers(0.1, 1e-3, (0.9, 0.95), "cpu")
for _ in range(6):
    x = torch.randint(0, 40, (4, 33))
    _, loss = model(x[:, :-1].contiguous(), x[:, 1:].contiguous())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(f"{loss.item():.5f}")
model.crop_block_size(16)
print(model.eval().generate(x[:1, :4], 10, temperature=0.9, top_k=10).tolist())
