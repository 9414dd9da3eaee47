"""torch.fx.passes.utils: parts of graphs, found and made modules."""

from rushlight.fx.passes.utils.common import HolderModule, compare_graphs, lift_subgraph_as_module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]
