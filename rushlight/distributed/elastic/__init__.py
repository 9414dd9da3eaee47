"""torch.distributed.elastic: see .errors of elastic.multiprocessing."""
