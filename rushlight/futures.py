"""torch.futures: a value that comes later, as operations of torch.distributed give it."""
from rushlight.distributed.work import Future as Future
