"""`activation_memory_budget`: which share of a forward's results a compiled program keeps for its backward.

1.0, the default, keeps all; what is not kept is computed again, where kernels can do that from what lives
anyway. It is read when a call is recorded.

`fake_tensor_propagate_real_tensors`: whether programs' ops are held to what they say of themselves while
torch.export records them. `fake_tensor_allow_meta`: whether fake tensors may lie on the meta device.
"""

from rushlight.utils._config_module import patcher

activation_memory_budget = 1.0
fake_tensor_propagate_real_tensors = False
fake_tensor_allow_meta = True
patch = patcher(__name__)
