"""attention-is-all-you-need-pytorch: its Transformer, its schedule, its beam search."""

import torch
from transformer.Models import Transformer
from transformer.Optim import ScheduledOptim
from transformer.Translator import Translator

model = Transformer(
    20,
    20,
    src_pad_idx=0,
    trg_pad_idx=0,
    d_word_vec=16,
    d_model=16,
    d_inner=32,
    n_layers=2,
    n_head=2,
    d_k=8,
    d_v=8,
    n_position=20,
)
opt = ScheduledOptim(torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9), 2.0, 16, 10)
src = torch.randint(1, 20, (4, 9))
trg = torch.cat([torch.full((4, 1), 2), src, torch.full((4, 1), 3)], 1)
for _ in range(6):
    opt.zero_grad()
    out = model(src, trg[:, :-1])
    loss = torch.nn.functional.cross_entropy(out, trg[:, 1:].reshape(-1), ignore_index=0, reduction="sum")
    loss.backward()
    opt.step_and_update_lr()
    print(f"{loss.item():.4f}")
print(Translator(model, 3, 12, 0, 0, 2, 3).translate_sentence(src[:1]))
