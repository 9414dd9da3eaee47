"""torch.fft: discrete Fourier transforms, by their rows."""
from rushlight.dispatch.door import namespace

__getattr__, __dir__ = namespace("fft")
