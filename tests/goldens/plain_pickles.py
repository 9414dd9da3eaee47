"""Records pickles that PyTorch writes with Python's own `pickle`: tests/goldens/plain_pickles.json.

    python tests/goldens/plain_pickles.py      needs PyTorch

Each is an expression, and the pickle of its value in base64.
"""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path

EXPRESSIONS = (
    "torch.arange(6.0).reshape(2, 3)",
    "torch.arange(6).reshape(2, 3).t()",
    "torch.ones(2, dtype=torch.bfloat16)",
    "torch.tensor([True, False])",
    "nn.Parameter(torch.ones(2))",
    "nn.Linear(2, 3)",
    "nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.BatchNorm2d(2))",
    "nn.TransformerEncoderLayer(4, 2, 8, activation=F.gelu)",
    "nn.LSTM(2, 3)",
    "torch.optim.AdamW(nn.Linear(1, 1).parameters())",
    "torch.optim.lr_scheduler.StepLR(torch.optim.SGD(nn.Linear(1, 1).parameters(), 0.1), 3)",
    "torch.distributions.Normal(0.0, 1.0)",
    "torch.utils.data.TensorDataset(torch.ones(3))",
    "torch.float16",
    "torch.Size([1, 2])",
    "torch.device('cpu')",
    "torch.strided",
    "torch.channels_last",
    "torch.relu",
    "torch.cat",
    "torch.linalg.norm",
    "torch.fft.fft",
    "torch.special.erf",
    "F.gelu",
    "F.relu",
    "nn.init.xavier_uniform_",
    "torch.optim.AdamW",
    "torch.autograd.Function",
)


def main() -> None:
    """Write them all."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    scope = {"torch": torch, "nn": torch.nn, "F": F}
    found = {text: base64.b64encode(pickle.dumps(eval(text, scope))).decode() for text in EXPRESSIONS}
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
