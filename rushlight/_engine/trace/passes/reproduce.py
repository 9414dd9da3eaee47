"""A kernel that does not give what eager gives, written down so that anybody can run it again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from rushlight._engine.trace.passes.kernel_nodes import Kernel
from rushlight._engine.trace.recorder import Entry

_SCRIPT = '''"""A compiled kernel and what eager computed; made by rushlight.compile(verify=True)."""
from pathlib import Path

import numpy as np

from rushlight._engine.trace.passes.kernel_nodes import Kernel

kernel = Kernel.parse("""{kernel}""")
saved = np.load(Path(__file__).with_suffix(".npz"))
found = kernel.made(*[saved[name] for name, _, _ in kernel.inputs])
for number, one in enumerate(found if isinstance(found, tuple) else (found,)):
    expected = saved[f"out{{number}}"].reshape(np.shape(one)).astype("float64")
    print(number, "largest difference:", np.abs(np.asarray(one, "float64") - expected).max())
'''


def write(entry: Entry, expected: tuple[Any, ...]) -> str:
    """Write a script and its arrays into a new temporary directory: the script's path, "" for no kernel."""
    kernel = entry.function
    if not isinstance(kernel, Kernel):
        return ""
    script = Path(tempfile.mkdtemp(prefix="rushlight-difference-")) / "kernel.py"
    arrays = {name: a for (name, _, _), a in zip(kernel.inputs, entry.operands[0], strict=True)}
    arrays.update({f"out{i}": a for i, a in enumerate(expected)})
    np.savez(script.with_suffix(".npz"), **arrays)
    script.write_text(_SCRIPT.format(kernel=kernel.text()))
    return str(script)
