"""torch.utils.tensorboard: SummaryWriter. It needs no package; TensorBoard itself reads what it writes."""

from __future__ import annotations

import json
import os
import socket
import time
from itertools import count
from typing import Any
from urllib.parse import quote

import numpy as np

from rushlight.utils.tensorboard import values
from rushlight.utils.tensorboard.summary import Summary, histogram_raw
from rushlight.utils.tensorboard.wire import frame, message

__all__ = ["FileWriter", "SummaryWriter"]
_numbers = count()


class FileWriter:
    """Appends events to one file in `log_dir`. `max_queue` of them wait, `flush_secs` long."""

    def __init__(
        self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = ""
    ) -> None:
        self._most, self._longest, self._waiting, self._flushed = max_queue, flush_secs, list[bytes](), 0.0
        os.makedirs(log_dir, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
        self._path = os.path.join(log_dir, f"{name}.{next(_numbers)}{filename_suffix}")
        self._log_dir = os.fspath(log_dir)
        self._file: Any = None
        self.add_event({3: "brain.Event:2"})

    def add_event(self, event: dict[int, Any], step: Any = None, walltime: float | None = None) -> None:
        """Write an Event message, given by field numbers."""
        now = float(time.time() if walltime is None else walltime)
        self._waiting.append(frame(message({1: now, 2: None if step is None else int(step), **event})))
        if len(self._waiting) > self._most or time.monotonic() - self._flushed > self._longest:
            self.flush()

    def add_summary(self, summary: Summary | bytes, global_step: Any = None, walltime: Any = None) -> None:
        """Write what a function of torch.utils.tensorboard.summary made, or its bytes."""
        made = summary if isinstance(summary, bytes) else summary.SerializeToString()
        self.add_event({5: made}, global_step, walltime)

    def get_logdir(self) -> str:
        """The directory."""
        return str(self._log_dir)

    def flush(self) -> None:
        """Hand all events to the system."""
        self._flushed = time.monotonic()
        if self._file is None:  # open until close(): the directory may be gone by then
            self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115
        self._file.write(b"".join(self._waiting))
        self._waiting.clear()

    def close(self) -> None:
        """Flush, and close the file; what is added later opens it again."""
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None

    reopen = flush


class SummaryWriter:
    """Writes numbers, pictures, texts and more for TensorBoard into `log_dir`.

    log_dir: by default runs/<time>_<host><comment>. purge_step: what another writer wrote from this step on
    is hidden. max_queue, flush_secs, filename_suffix: see FileWriter. A context manager that closes itself.
    walltime= of every method: seconds since the epoch, now by default.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        default = f"runs/{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}"
        self.log_dir = os.fspath(log_dir or default)
        self._settings = (max_queue, flush_secs, filename_suffix)
        self._writers: dict[str, FileWriter] = {}
        self._event({} if purge_step is None else {7: {1: 1}}, purge_step)  # a session's start

    def _event(self, event: dict[int, Any], step: Any, walltime: Any = None, folder: str = "") -> None:
        folder = folder or self.log_dir
        if folder not in self._writers:
            self._writers[folder] = FileWriter(folder, *self._settings)
        if event:
            self._writers[folder].add_event(event, step, walltime)

    def _add(self, value: dict[int, Any], step: Any, walltime: Any, folder: str = "") -> None:
        self._event({5: {1: value}}, step, walltime, folder)

    def get_logdir(self) -> str:
        """The directory."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: Any = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number under `tag` at a step; new_style and double_precision say how it is stored."""
        value = values.number(scalar_value)
        if new_style:
            stored = {1: 2, 6: value} if double_precision else {1: 1, 5: np.float32(value)}
            self._add({1: tag, 8: {**stored, 2: {}}, 9: values.plugin("scalars")}, global_step, walltime)
        else:
            self._add({1: tag, 2: np.float32(value)}, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: Any = None
    ) -> None:
        """Several numbers in one chart: each goes to a directory of its own beside this writer's file."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            self._add({1: main_tag, 2: np.float32(values.number(value))}, global_step, walltime, folder)

    def add_histogram(
        self,
        tag: str,
        values_: Any = None,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: Any = None,
        max_bins: int | None = None,
        **named: Any,
    ) -> None:
        """How the elements of a tensor (`values`) are distributed; `bins` as numpy.histogram's."""
        data = named.pop("values", values_)
        self._add({1: tag, 5: values.histogram(data, bins, max_bins)}, global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: Any,
        max: Any,
        num: int,
        sum: Any,
        sum_squares: Any,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """A histogram that was counted before: bucket_limits are the buckets' upper ends. ValueError where
        they
        are not as many as the counts.
        """
        self._get_file_writer().add_summary(
            histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts),
            global_step,
            walltime,
        )

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture: floats in 0 .. 1 or bytes, in the order that dataformats names."""
        self._add({1: tag, 4: values.image(img_tensor, dataformats)}, global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Pictures in a grid, eight in a row."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: Any = None
    ) -> None:
        """A matplotlib figure or a list of them; closed afterwards if `close`."""
        pixels = values.figure(figure, close)
        self.add_image(tag, pixels, global_step, walltime, "NHWC" if pixels.ndim == 4 else "HWC")

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: Any = None) -> None:
        """A text, shown as Markdown."""
        self._add(
            values.text(tag, text_string),
            global_step,
            walltime,
        )

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The ops of model(*input_to_model), grouped by modules; verbose=True prints the nodes' names."""
        # it loads torch.jit
        from rushlight.utils.tensorboard.graph import graph

        found, names = graph(model, () if input_to_model is None else input_to_model)
        self._event({4: message(found)}, None)
        if verbose:
            print("\n".join(names))

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Hyperparameters (numbers, bools, texts) and the metrics they led to, as a run of its own."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        for value in values.hparams(hparam_dict, metric_dict, hparam_domain_discrete or {}):
            self._add(value, None, None, folder)
        for name, metric in metric_dict.items():
            self._add({1: name, 2: np.float32(values.number(metric))}, global_step, None, folder)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: Any = None,
    ) -> None:
        """A sound of one channel, (1, L) or (L,): floats in -1 .. 1; what lies beyond is clipped."""
        self._add({1: tag, 6: values.audio(snd_tensor, sample_rate)}, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: Any = None,
    ) -> None:
        """Precision and recall of predictions (probabilities) for true or false labels of the same shape.

        num_thresholds: 127 at most. weights: of each prediction, 1 by default.
        """
        count = min(num_thresholds, 127)
        content = {
            8: values.tensor(values.pr_curve(labels, predictions, count, weights)),
            9: values.plugin("pr_curves", message({2: count})),
        }
        self._add({1: tag, **content}, global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Any = None,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Points (B, N, 3), if given with colors (B, N, 3) in 0 .. 255 and triangles (B, M, 3) of points.

        config_dict: what three.js is to be told: camera, lights, material.
        """
        for value in values.mesh(tag, (vertices, faces, colors), json.dumps(config_dict or {})):
            self._add(value, global_step, walltime)

    def add_embedding(
        self,
        mat: Any,
        metadata: list[Any] | None = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: list[Any] | None = None,
    ) -> None:
        """The rows of mat (N, D) for the projector, as files in a directory of their own.

        metadata: a label of each row, or a list of labels under metadata_header; label_img: (N, C, H, W)
        pictures in 0 .. 1. ValueError where their lengths differ from N.
        """
        step = str(global_step or 0).zfill(5)
        folder = os.path.join(self.log_dir, step, quote(tag, ""))
        config = values.embedding(folder, f"{tag}:{step}", (mat, metadata, label_img, metadata_header))
        with open(os.path.join(self.log_dir, "projector_config.pbtxt"), "a", encoding="utf-8") as file:
            file.write(config)

    def flush(self) -> None:
        """Hand all events to the system."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Flush, and close the files; what is added later opens them again."""
        for writer in self._writers.values():
            writer.close()

    def _get_file_writer(self) -> FileWriter:
        """What writes to this writer's directory."""
        self._event({}, None)
        return self._writers[self.log_dir]

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
