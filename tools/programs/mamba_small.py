"""mamba-minimal: a small model, a few steps."""

import torch
from model import Mamba, ModelArgs

model = Mamba(ModelArgs(d_model=16, n_layer=2, vocab_size=32, d_state=4))
opt = torch.optim.AdamW(model.parameters(), 3e-3)
for _ in range(5):
    x = torch.randint(0, 32, (2, 13))
    loss = torch.nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
