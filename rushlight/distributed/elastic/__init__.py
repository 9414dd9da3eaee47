"""torch.distributed.elastic: see .multiprocessing and .utils; the launcher is torch.distributed.launcher."""
