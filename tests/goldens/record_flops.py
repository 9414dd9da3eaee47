"""Record what PyTorch counts of the programs in tests/utils/flop_programs.py:

python -m tests.goldens.record_flops
"""

import json
from pathlib import Path

import torch
import torch.utils.flop_counter

from tests.utils.flop_programs import counted

if __name__ == "__main__":
    Path(__file__).with_name("flops.json").write_text(json.dumps(counted(torch), indent=1) + "\n")
