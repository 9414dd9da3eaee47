"""Under torch.vmap, table[i] with a tensor `i` of one number looks up a batch of places, always."""

from __future__ import annotations

from contextlib import nullcontext


class TransformGetItemToIndex(nullcontext[None]):
    """Asks for that in PyTorch, whose vmap would call .item(); nothing is left to ask for here."""
