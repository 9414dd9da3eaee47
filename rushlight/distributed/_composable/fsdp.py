"""fully_shard by its older name."""
from rushlight.distributed.fsdp import fully_shard

__all__ = ["fully_shard"]
