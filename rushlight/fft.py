"""torch.fft: discrete Fourier transforms, by their rows."""

from rushlight._engine.dispatch.dispatcher import namespace

__getattr__, __dir__ = namespace("fft")
