"""torch.storage: the memory behind tensors, as objects."""
from rushlight.tensor.typed import TypedStorage
from rushlight.tensor.untyped import UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
