"""torch.special: special functions, by their rows."""

from rushlight._engine.dispatch.dispatcher import namespace

__getattr__, __dir__ = namespace("special")
