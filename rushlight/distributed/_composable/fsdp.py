"""fully_shard by its older name."""

from rushlight.distributed.fsdp import fully_shard

__path__: list[str] = []  # modules below it: names/placeholders.tsv

__all__ = ["fully_shard"]
