"""torch.distributed of a build without it."""


def is_available() -> bool:
    """False."""
    return False
