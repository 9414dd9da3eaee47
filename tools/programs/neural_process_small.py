"""neural-processes: trained on sine functions by the checkout's trainer."""

import torch
from datasets import SineData
from neural_process import NeuralProcess
from torch.utils.data import DataLoader
from training import NeuralProcessTrainer

data = SineData(amplitude_range=(-1.0, 1.0), shift_range=(-0.5, 0.5), num_samples=40)
model = NeuralProcess(1, 1, 8, 8, 8)
trainer = NeuralProcessTrainer(
    "cpu",
    model,
    torch.optim.Adam(model.parameters(), 3e-4),
    num_context_range=(4, 8),
    num_extra_target_range=(4, 8),
    print_freq=2,
)
trainer.train(DataLoader(data, 4, shuffle=True), 2)
