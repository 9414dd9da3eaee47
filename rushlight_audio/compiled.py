"""torchaudio.lib._torchaudio: what torchaudio's compiled module answers about itself."""

from __future__ import annotations


def is_align_available() -> bool:
    """Whether torch.ops.torchaudio.forced_align is there: it is."""
    return True


def is_rir_available() -> bool:
    """Whether the prototype operators of room impulse responses are there: they are not."""
    return False


def cuda_version() -> int | None:
    """The version of CUDA that the operators are compiled for: none."""
    return None
