"""A worker of elastic_launch: `python -m ...entry FOLDER` calls the function that lies there, and leaves its
result.
"""

from __future__ import annotations

import os
import pickle
import sys
from multiprocessing import spawn
from pathlib import Path

from rushlight.distributed.elastic.multiprocessing.errors import record
from rushlight.distributed.worker import die_with_parent
from rushlight.launcher import install_as_torch


def main(folder: Path) -> None:
    """Call the function in `folder`/call; its result goes to `folder`/result_RANK, an error to
    error_RANK.json.
    """
    rank = os.environ["RANK"]
    os.environ.setdefault("TORCHELASTIC_ERROR_FILE", str(folder / f"error_{rank}.json"))
    with open(folder / "call", "rb") as file:
        spawn.prepare(pickle.load(file))
        function, args = pickle.load(file)
    result = record(function)(*args)
    (folder / f"result_{rank}").write_bytes(pickle.dumps(result))


if __name__ == "__main__":
    die_with_parent()
    install_as_torch()
    main(Path(sys.argv[1]))
