# Written by `python tools/stubs.py`.
from rushlight.distributions.counts import *
