# Written by `python tools/stubs.py`.
from rushlight.distributions.families.real_line import *
