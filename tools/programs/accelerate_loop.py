"""accelerate: a loop with accumulation, clipping, schedules, gathering, saved state."""

import torch
from accelerate import Accelerator, init_empty_weights, load_checkpoint_and_dispatch
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
x = torch.randn(37, 4)
data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, shuffle=True)
opt = torch.optim.AdamW(net.parameters(), 1e-2)
plan = torch.optim.lr_scheduler.OneCycleLR(opt, 0.05, total_steps=30)
net, opt, data, plan = accelerator.prepare(net, opt, data, plan)
for epoch in range(3):
    for a, b in data:
        with accelerator.accumulate(net):
            loss = nn.functional.mse_loss(net(a), b)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            plan.step()
            opt.zero_grad()
    print(
        epoch,
        f"{loss.item():.5f} {plan.get_last_lr()[0]:.6f} {accelerator.gather_for_metrics(loss).sum().item():.5f}",
    )
accelerator.save_state("state")
before = sum(float(p.double().sum()) for p in net.parameters())
for p in net.parameters():
    p.data.zero_()
accelerator.load_state("state")
print(f"{before:.6f} {sum(float(p.double().sum()) for p in net.parameters()):.6f}")
accelerator.save_model(net, "model")
with init_empty_weights():
    empty = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
print({str(p.device) for p in empty.parameters()})
full = load_checkpoint_and_dispatch(empty, "model", device_map={"": "cpu"})
print(f"{full.eval()(x).sum().item():.5f} {accelerator.unwrap_model(net).eval()(x).sum().item():.5f}")
