"""torch.utils.data.backward_compatibility: what older programs hand to a DataLoader."""

from __future__ import annotations

from rushlight._engine.core.callers import warn


def worker_init_fn(worker_id: int) -> None:
    """Nothing: a DataLoader shards pipes by itself. FutureWarning."""
    warn(
        "Usage of `backward_compatibility.worker_init_fn` is deprecated "
        "as `DataLoader` automatically applies sharding in every worker",
        FutureWarning,
    )
