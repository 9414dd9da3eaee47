"""Tools around parameters, gradients and modules (torch.nn.utils)."""

from rushlight._engine.lazy import homes, lazy_names, public

# Files with the name of their function: were they loaded later, the file would take the name.
from rushlight.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from rushlight.nn.utils.weight_norm import remove_weight_norm, weight_norm

_HOMES = homes("rushlight.nn.utils")
__getattr__, __dir__ = lazy_names(globals(), _HOMES)
__all__ = sorted(
    (
        *public(_HOMES),
        "parametrizations",
        "parametrize",
        "remove_spectral_norm",
        "remove_weight_norm",
        "rnn",
        "spectral_norm",
        "stateless",
        "weight_norm",
    )
)
