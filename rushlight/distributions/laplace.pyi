# Written by `python tools/stubs.py`.
from rushlight.distributions.real_line import *
