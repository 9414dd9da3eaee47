"""Sharded checkpoints as safetensors files of Hugging Face's layout: not there yet."""

from __future__ import annotations

from typing import Any


class HuggingFaceStorageReader:
    """Reads one; raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} is not in Rushlight yet: load with "
            "safetensors.torch.load_file, and distribute what it gives"
        )


class HuggingFaceStorageWriter(HuggingFaceStorageReader):
    """Writes one; raises NotImplementedError."""
