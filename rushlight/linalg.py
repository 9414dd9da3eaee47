"""torch.linalg: linear algebra, by their rows."""

from rushlight._engine.core.errors import LinAlgError as LinAlgError
from rushlight._engine.dispatch.dispatcher import namespace

__getattr__, __dir__ = namespace("linalg")
