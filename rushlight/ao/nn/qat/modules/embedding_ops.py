"""nn.qat.Embedding and EmbeddingBag."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight.ao.nn.qat.modules.linear import float_parts


def _check(qconfig: Any, name: str) -> None:
    if not qconfig:
        raise AssertionError("qconfig must be provided for QAT module")
    if qconfig.weight().qscheme is not torch.per_channel_affine_float_qparams:
        raise AssertionError(f"{name} weights requires a qscheme of torch.per_channel_affine_float_qparams")


class Embedding(nn.Embedding):
    """An embedding whose weight is fake-quantized by qconfig.weight(), with a scale for each row."""

    _FLOAT_MODULE: Any = nn.Embedding

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _check(qconfig, "Embedding")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any) -> Any:
        """The rows of the rounded weight."""
        return nn.functional.embedding(
            input,
            self.weight_fake_quant(self.weight),
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Embedding:
        """The layer of a float one; the weight is the same."""
        inner = float_parts(mod)
        made = cls(inner.num_embeddings, inner.embedding_dim, inner.padding_idx, qconfig=mod.qconfig)
        made.weight = inner.weight
        return made


class EmbeddingBag(nn.EmbeddingBag):
    """Sums of rows of a weight that is fake-quantized by qconfig.weight()."""

    _FLOAT_MODULE: Any = nn.EmbeddingBag

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _check(qconfig, "Embedding Bag")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Sums of rows of the rounded weight."""
        return nn.functional.embedding_bag(
            input,
            self.weight_fake_quant(self.weight),
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> EmbeddingBag:
        """The layer of a float one; the weight is the same."""
        inner = float_parts(mod)
        made = cls(inner.num_embeddings, inner.embedding_dim, mode=inner.mode, qconfig=mod.qconfig)
        made.weight = inner.weight
        return made
