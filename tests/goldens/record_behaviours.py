"""Record what PyTorch's optimizers, schedulers and loaders do: run this where torch is installed."""

from __future__ import annotations

import torch
from averaging_behaviours import AVERAGING
from data_behaviours import DATA
from docstring_behaviours import DOCSTRINGS
from nested_behaviours import NESTED
from optim_behaviours import OPTIM
from quantization_behaviours import QUANTIZATION
from scheduler_behaviours import SCHEDULERS
from tensor_behaviours import TENSOR


def main() -> None:
    """Write the tables' JSON files next to this file."""
    for table in (OPTIM, AVERAGING, SCHEDULERS, DATA, TENSOR, DOCSTRINGS, QUANTIZATION, NESTED):
        table.record(torch)


if __name__ == "__main__":
    main()
