"""torch.special: special functions, by their rows."""
from rushlight.dispatch.door import namespace

__getattr__, __dir__ = namespace("special")
