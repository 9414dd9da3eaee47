"""The graph of an eager computation, and the engine that runs it backwards.

Begin with node.py, then engine.py (`backward`, `run`). hooks.py, in_place.py and saved_tensor_hooks.py are
what goes on around it; function.py is torch.autograd.Function. How an op's gradient is found is
dispatch/nodes' matter.
"""

from rushlight._engine.core.services import register

register(
    "rushlight._engine.autograd",
    {
        "saved tensors are packed": "saved_tensor_hooks:packing",
        "a tensor without gradients": "node_classes:refusing",
    },
)
