"""torch.distributed.elastic.multiprocessing: see .errors of elastic.multiprocessing."""
