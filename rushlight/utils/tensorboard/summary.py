"""Values for TensorBoard without a writer: what SummaryWriter makes, to be handed to a FileWriter.

`FileWriter.add_summary(scalar("loss", 0.5), step)` is `SummaryWriter.add_scalar("loss", 0.5, step)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rushlight.utils.tensorboard import values
from rushlight.utils.tensorboard.wire import message

__all__ = ["Summary", "audio", "histogram", "histogram_raw", "hparams", "image", "scalar", "text"]


class Summary:
    """Some values; `fields` are TensorBoard's Summary.Value messages, by field numbers."""

    def __init__(self, *fields: dict[int, Any]) -> None:
        self.fields = fields

    def SerializeToString(self) -> bytes:
        """The message that is written."""
        return b"".join(message({1: one}) for one in self.fields)


def scalar(
    name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False
) -> Summary:
    """A number; new_style and double_precision say how it is stored."""
    value = values.number(tensor)
    if not new_style:
        return Summary({1: name, 2: np.float32(value)})
    stored = {1: 2, 6: value} if double_precision else {1: 1, 5: np.float32(value)}
    return Summary({1: name, 8: {**stored, 2: {}}, 9: values.plugin("scalars")})


def histogram(
    name: str, values_: Any = None, bins: Any = "tensorflow", max_bins: int | None = None, **named: Any
) -> Summary:
    """How the elements of a tensor (`values`) are distributed; `bins` as numpy.histogram's."""
    return Summary({1: name, 5: values.histogram(named.pop("values", values_), bins, max_bins)})


def histogram_raw(
    name: str,
    min: Any,
    max: Any,
    num: int,
    sum: Any,
    sum_squares: Any,
    bucket_limits: Sequence[float],
    bucket_counts: Sequence[float],
) -> Summary:
    """A histogram that was counted before: bucket_limits are the buckets' upper ends. ValueError where they
    are not
    as many as the counts.
    """
    if len(bucket_limits) != len(bucket_counts):
        raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
    plain = {1: float(min), 2: float(max), 3: float(num), 4: float(sum), 5: float(sum_squares)}
    limits, counts = (values.array(given).astype(float) for given in (bucket_limits, bucket_counts))
    return Summary({1: name, 5: {**plain, 6: limits, 7: counts}})


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """A picture: floats in 0 .. 1 or bytes, in the order that dataformats names, times `rescale`."""
    given = tensor if rescale == 1 else values.array(tensor) * rescale
    return Summary({1: tag, 4: values.image(given, dataformats)})


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """A sound of one channel: floats in -1 .. 1."""
    return Summary({1: tag, 6: values.audio(tensor, sample_rate)})


def text(tag: str, text: str) -> Summary:
    """A text, shown as Markdown."""
    return Summary(values.text(tag, text))


def hparams(
    hparam_dict: dict[str, Any] | None = None,
    metric_dict: dict[str, Any] | None = None,
    hparam_domain_discrete: dict[str, list[Any]] | None = None,
) -> tuple[Summary, Summary, Summary]:
    """Hyperparameters and metrics' names: what tells of the experiment, of a session's start, and of its
    end.
    """
    if not isinstance(hparam_dict or {}, dict) or not isinstance(metric_dict or {}, dict):
        raise TypeError("parameter: hparam_dict and metric_dict should be a dictionary, nothing logged.")
    made = values.hparams(hparam_dict or {}, metric_dict or {}, hparam_domain_discrete or {})
    experiment, begin, end = map(Summary, made)
    return experiment, begin, end
