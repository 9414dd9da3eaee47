"""python -m torch.distributed.launch: the older name of torch.distributed.run.

Programs are given their local rank as an argument, --local-rank=N, unless --use-env asks for the environment
alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight._engine.core.callers import warn
from rushlight.distributed import run


def main(args: Sequence[str] | None = None) -> None:
    """The command; exits with status 1 when the run failed, naming the cause."""
    warn(
        "The module torch.distributed.launch is deprecated\nand will be removed in future. Use torchrun.\n"
        "Note that --use-env is set by default in torchrun.\n"
        "If your script expects `--local-rank` argument to be set, please\n"
        "change it to read from `os.environ['LOCAL_RANK']` instead.",
        FutureWarning,
    )
    run.main(args, older=True)


if __name__ == "__main__":
    main()
