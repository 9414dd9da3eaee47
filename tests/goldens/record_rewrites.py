"""Record what PyTorch's replace_pattern makes of the graphs in tests/fx/rewrites.py:

python -m tests.goldens.record_rewrites
"""

import json
from pathlib import Path

import torch
import torch.fx.subgraph_rewriter

from tests.fx.rewrites import rewrites

if __name__ == "__main__":
    Path(__file__).with_name("rewrites.json").write_text(json.dumps(rewrites(torch), indent=1) + "\n")
