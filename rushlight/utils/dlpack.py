"""torch.utils.dlpack: tensors to and from DLPack capsules, which other libraries read."""
from rushlight.tensor.bridge import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
