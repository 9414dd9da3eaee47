# Written by `python tools/stubs.py`.
"""kl_divergence(p, q), the mean under p of log p(x) - log q(x), and a table of functions for it."""
from typing import Any

def _closest(type_p: Any, type_q: Any) -> Any:
    """The function of the nearest base classes; RuntimeWarning if p and q disagree."""
def kl_divergence(p: Any, q: Any) -> Any:
    """The divergence of p from q for each place of the batch; NotImplementedError for unregistered pairs."""
def register_kl(type_p: Any, type_q: Any) -> Any:
    """Decorator: the function is kl_divergence(p, q) for p and q of these classes and subclasses of them.

    A class need not be one of ours (pyro's Distribution is none). TypeError for what is no class.
    """
__all__ = ['kl_divergence', 'register_kl']
