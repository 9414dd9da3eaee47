"""torch.autograd: the graph, the engine, and their public names."""
from rushlight.base.lazy import lazy_names

_HOME = {"Function": "function", "backward": "engine", "grad": "engine", "no_grad": "mode",
         "enable_grad": "mode", "set_grad_enabled": "mode", "inference_mode": "mode",
         "gradcheck": "gradchecking", "gradgradcheck": "gradchecking", "detect_anomaly": "anomaly",
         "set_detect_anomaly": "anomaly", "is_anomaly_enabled": "anomaly", "Node": "node",
         "GradcheckError": "gradchecking", "is_grad_enabled": "mode", "Variable": "function",
         "once_differentiable": "function"}
_FILES = ("anomaly", "engine", "forward_ad", "function", "functional", "gradchecking", "graph", "hooks",
          "inplace", "mode", "node", "profiler")
__getattr__, __dir__ = lazy_names(globals(), _HOME, _FILES)
