"""neuralforecast: nine networks, five steps of training each, on two series."""

import logging

import numpy as np
import pandas as pd
from neuralforecast import NeuralForecast
from neuralforecast.losses.pytorch import MQLoss
from neuralforecast.models import LSTM, MLP, NBEATS, NHITS, TCN, DLinear, NLinear, PatchTST, TiDE

logging.disable(logging.CRITICAL)
days = 60
series = pd.DataFrame(
    {
        "unique_id": ["a"] * days + ["b"] * days,
        "ds": [*pd.date_range("2020-01-01", periods=days, freq="D")] * 2,
        "y": np.concatenate([np.sin(np.arange(days) / 3), np.cos(np.arange(days) / 5)]).astype(np.float32),
    }
)
common = {
    "h": 4,
    "input_size": 12,
    "max_steps": 5,
    "random_seed": 1,
    "accelerator": "cpu",
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "enable_checkpointing": False,
}
no_dropout = {"dropout": 0.0, "fc_dropout": 0.0, "head_dropout": 0.0, "attn_dropout": 0.0}
patches = {"patch_len": 4, "stride": 2, "encoder_layers": 1, "linear_hidden_size": 16, "n_heads": 2}
models = [
    NHITS(**common),
    NBEATS(**common),
    MLP(loss=MQLoss(level=[80]), **common),
    DLinear(**common),
    NLinear(**common),
    TiDE(**common, hidden_size=16, decoder_output_dim=4),
    PatchTST(**common, **patches, **no_dropout, hidden_size=16),
    LSTM(**common, encoder_hidden_size=8, decoder_hidden_size=8),
    TCN(**common, encoder_hidden_size=8, decoder_hidden_size=8),
]
forecaster = NeuralForecast(models=models, freq="D")
forecaster.fit(series)
print(forecaster.predict().drop(columns=["ds"]).groupby("unique_id").mean().round(4).to_string())
