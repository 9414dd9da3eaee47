"""Record what PyTorch's distributions of tests/distributions/members.py draw, weigh and tell:

python -m tests.goldens.record_distributions
"""

import json
from pathlib import Path

import torch

from tests.distributions.members import answers

if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(told)}" for name, told in answers(torch).items()]
    Path(__file__).with_name("distribution_members.json").write_text("{" + ",\n".join(lines) + "}\n")
