# Written by `python tools/stubs.py`.
from rushlight.distributions.families.relaxed import *
