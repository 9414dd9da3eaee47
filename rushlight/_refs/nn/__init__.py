"""torch._refs.nn: functions of torch.nn.functional."""

from rushlight._refs.nn import functional as functional
