"""Optimizers and schedulers do what PyTorch was recorded to do."""
from __future__ import annotations

import sys
from pathlib import Path

import rushlight

sys.path.insert(0, str(Path(__file__).parents[1] / "goldens"))
from averaging_behaviours import AVERAGING  # noqa: E402
from optim_behaviours import OPTIM  # noqa: E402
from scheduler_behaviours import SCHEDULERS  # noqa: E402

test_optimizer = OPTIM.compared(rushlight)
# To the last bit, up to what cos() of another C library gives.
test_scheduler = SCHEDULERS.compared(rushlight, 1e-15)
test_averages = AVERAGING.compared(rushlight)
