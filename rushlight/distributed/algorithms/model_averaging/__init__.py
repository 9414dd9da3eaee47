"""torch.distributed.algorithms.model_averaging: parameters averaged over ranks now and then."""
