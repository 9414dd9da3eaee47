"""Record the losses of the training programs: run this where torch is installed."""

from __future__ import annotations

import torch
from programs import PROGRAMS

if __name__ == "__main__":
    PROGRAMS.record(torch)
