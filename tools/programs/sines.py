"""Writes `traindata.pt`, waves in an array, as `generate_sine_wave.py` of PyTorch's example does, but smaller."""
import numpy

import torch

waves = numpy.sin((numpy.arange(200) + numpy.random.default_rng(2).integers(-80, 80, 20).reshape(20, 1)) / 20.0)
torch.save(waves.astype("float64"), "traindata.pt")
