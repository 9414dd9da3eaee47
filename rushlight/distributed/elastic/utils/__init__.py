"""torch.distributed.elastic.utils: see .distributed."""
