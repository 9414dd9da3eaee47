"""An Accelerator trains; also as `accelerate launch accelerate_train.py`."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
x = torch.randn(64, 4)
data = TensorDataset(x, x @ torch.tensor([[1.0], [2.0], [3.0], [4.0]]))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(data, batch_size=16, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
losses = []
for _ in range(10):
    for a, b in loader:
        loss = torch.nn.functional.mse_loss(model(a), b)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    losses.append(loss.item())
assert losses[-1] < 0.01 * losses[0], losses
print("loss", losses[0], "to", losses[-1])
