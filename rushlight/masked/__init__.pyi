# Written by `python tools/stubs.py`.
"""torch.masked: functions of the elements that a mask chooses, and tensors that carry such a mask."""

from rushlight.masked.maskedtensor.core import MaskedTensor as MaskedTensor
from rushlight.masked._ops import _canonical_dim as _canonical_dim
from rushlight.masked._ops import _combine_input_and_mask as _combine_input_and_mask
from rushlight.masked._ops import _input_mask as _input_mask
from rushlight.masked import _ops as _ops
from rushlight.masked._ops import _output_mask as _output_mask
from rushlight.masked._ops import _reduction_identity as _reduction_identity
from rushlight.masked._ops import _where as _where
from rushlight.masked._ops import amax as amax
from rushlight.masked._ops import amin as amin
from rushlight.masked._ops import argmax as argmax
from rushlight.masked._ops import argmin as argmin
from rushlight.masked.maskedtensor.creation import as_masked_tensor as as_masked_tensor
from rushlight.masked._ops import cumprod as cumprod
from rushlight.masked._ops import cumsum as cumsum
from rushlight.masked.maskedtensor.core import is_masked_tensor as is_masked_tensor
from rushlight.masked._ops import log_softmax as log_softmax
from rushlight.masked._ops import logaddexp as logaddexp
from rushlight.masked._ops import logsumexp as logsumexp
from rushlight.masked.maskedtensor.creation import masked_tensor as masked_tensor
from rushlight.masked import maskedtensor as maskedtensor
from rushlight.masked._ops import mean as mean
from rushlight.masked._ops import median as median
from rushlight.masked._ops import norm as norm
from rushlight.masked._ops import normalize as normalize
from rushlight.masked._ops import prod as prod
from rushlight.masked._ops import softmax as softmax
from rushlight.masked._ops import softmin as softmin
from rushlight.masked._ops import std as std
from rushlight.masked._ops import sum as sum
from rushlight.masked._ops import var as var
def __dir__() -> list[str]: ...
__all__ = ['MaskedTensor', '_canonical_dim', '_combine_input_and_mask', '_input_mask', '_output_mask',
    '_reduction_identity', '_where', 'amax', 'amin', 'argmax', 'argmin', 'as_masked_tensor', 'cumprod',
    'cumsum', 'is_masked_tensor', 'log_softmax', 'logaddexp', 'logsumexp', 'masked_tensor', 'mean', 'median',
    'norm', 'normalize', 'prod', 'softmax', 'softmin', 'std', 'sum', 'var']
