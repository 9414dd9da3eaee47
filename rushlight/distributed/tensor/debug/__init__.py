"""What DTensors send (torch.distributed.tensor.debug)."""

from rushlight.distributed.tensor.debug._comm_mode import CommDebugMode

__all__ = ["CommDebugMode"]
