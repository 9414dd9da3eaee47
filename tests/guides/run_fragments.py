"""Run the user guides' fragments under `import torch`: python run_fragments.py OUT.json

fragments.txt holds them under their numbers: A .. E for the five guides, then the section. Each runs with the
imports that the guides assume, and tells how it ended and what it printed.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).parent
IMPORTS = """import os, math, json, random, time
from pathlib import Path
from typing import Optional
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader, random_split
torch.manual_seed(0)
"""


def fragments():
    """{name: code}."""
    parts = f"\n{(HERE / 'fragments.txt').read_text(encoding='utf-8')}".split("\n### ")[1:]
    return {name.strip(): code for name, _, code in (part.partition("\n") for part in parts)}


def run(name, code):
    """[how it ended, what it printed]."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(IMPORTS + code, name, "exec"), {"__name__": "__main__"})
    except Exception as error:
        return [f"{type(error).__name__}: {error}", printed.getvalue()]
    return ["ok", printed.getvalue()]


if __name__ == "__main__":
    out = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = {name: run(name, code) for name, code in fragments().items()}
        os.chdir(HERE)
    out.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
