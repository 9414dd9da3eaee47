# Written by `python tools/stubs.py`.
from rushlight.distributions.extremes import *
