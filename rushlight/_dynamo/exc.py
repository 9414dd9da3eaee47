"""torch._dynamo.exc: what export raises for arguments and dimensions that cannot be."""

from rushlight.export.errors import UserError

__all__ = ["UserError"]
