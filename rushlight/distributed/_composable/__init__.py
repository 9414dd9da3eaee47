"""What changes modules in place, by hooks and states of their own (torch.distributed._composable)."""

from rushlight.distributed._composable.checkpoint_activation import checkpoint
from rushlight.distributed._composable.contract import _get_registry, contract
from rushlight.distributed._composable.replicate import replicate

__all__ = ["_get_registry", "checkpoint", "contract", "replicate"]
