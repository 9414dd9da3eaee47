"""Tools around parameters, gradients and modules (torch.nn.utils)."""
from rushlight.base.lazy import lazy_names

# Files with the name of their function: were they loaded later, the file would take the name.
from rushlight.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from rushlight.nn.utils.weight_norm import remove_weight_norm, weight_norm

_FILES = {"clip_grad": "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
          "convert_parameters": "parameters_to_vector vector_to_parameters", "init": "skip_init",
          "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
          "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format"}
_HOMES = {name: file for file, names in _FILES.items() for name in names.split()}
__getattr__, __dir__ = lazy_names(globals(), _HOMES, (
    *_FILES, "parametrizations", "parametrize", "prune", "rnn", "stateless"))
__all__ = sorted((*_HOMES, "parametrizations", "parametrize", "remove_spectral_norm",
                  "remove_weight_norm", "rnn", "spectral_norm", "stateless", "weight_norm"))
