"""torch.fx.experimental.symbolic_shapes: what export raises where a program looks at a tensor's numbers."""

from rushlight.export.errors import GuardOnDataDependentSymNode

__all__ = ["GuardOnDataDependentSymNode"]
