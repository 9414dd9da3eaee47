"""torch.linalg: linear algebra, by their rows."""
from rushlight.base.errors import LinAlgError as LinAlgError
from rushlight.dispatch.door import namespace

__getattr__, __dir__ = namespace("linalg")
