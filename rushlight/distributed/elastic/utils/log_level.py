"""The level of loggers that LOGLEVEL does not name (torch.distributed.elastic.utils.log_level)."""

__all__ = ["get_log_level"]


def get_log_level() -> str:
    """ "WARNING"."""
    return "WARNING"
