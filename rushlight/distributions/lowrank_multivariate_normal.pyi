# Written by `python tools/stubs.py`.
from rushlight.distributions.vectors import *
