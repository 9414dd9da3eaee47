# Written by `python tools/stubs.py`.
"""torch.autograd: the graph, the engine, and their public names."""

from rushlight._engine.autograd.function import Function as Function
from rushlight.autograd.gradchecking import GradcheckError as GradcheckError
from rushlight._engine.autograd.node import Node as Node
from rushlight._engine.autograd.saved_values import SavedTensor as SavedTensor
from rushlight._engine.autograd.function import Variable as Variable
from rushlight._engine.autograd.engine import _calculate_shape as _calculate_shape
from rushlight._engine.autograd.engine import _is_checkpoint_valid as _is_checkpoint_valid
from rushlight._engine.core.profiling_ranges import _profiler_enabled as _profiler_enabled
from rushlight._engine.autograd.engine import backward as backward
from rushlight._engine.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from rushlight._engine.autograd.grad_mode import enable_grad as enable_grad
from rushlight._engine.autograd.tasks import enforce_grad_layout_policy as enforce_grad_layout_policy
from rushlight.autograd import forward_ad as forward_ad
from rushlight.autograd import functional as functional
from rushlight._engine.autograd.engine import grad as grad
from rushlight.autograd.gradchecking import gradcheck as gradcheck
from rushlight.autograd import gradchecking as gradchecking
from rushlight.autograd.gradchecking import gradgradcheck as gradgradcheck
from rushlight.autograd import graph as graph
from rushlight._engine.autograd.grad_mode import inference_mode as inference_mode
from rushlight._engine.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from rushlight._engine.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from rushlight._engine.autograd.tasks import is_multithreading_enabled as is_multithreading_enabled
from rushlight._engine.autograd.grad_mode import no_grad as no_grad
from rushlight._engine.autograd.function import once_differentiable as once_differentiable
from rushlight._engine.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
from rushlight._engine.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from rushlight._engine.autograd.tasks import set_multithreading_enabled as set_multithreading_enabled
def __dir__() -> list[str]: ...
