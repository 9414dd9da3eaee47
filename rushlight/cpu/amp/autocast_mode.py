"""The older spelling of autocast for the CPU."""
from rushlight.amp.autocast_mode import older
from rushlight.base.dtype import bfloat16

autocast = older("cpu", bfloat16, __name__)
