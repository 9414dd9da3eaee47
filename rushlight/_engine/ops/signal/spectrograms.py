"""Short-time Fourier transforms: spectra of windows that slide over a signal, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight._engine.core.callers import warn
from rushlight._engine.core.dtype import FLOATING
from rushlight._engine.core.errors import warn_once
from rushlight._engine.ops.creation.copying import tensor_of
from rushlight._engine.ops.table import ROWS, composite


def _defaults(n_fft: int, hop_length: int | None, win_length: int | None) -> tuple[int, int]:
    return n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length


def _window(window: Any, n_fft: int, win_length: int, like: Any) -> Any:
    """The window, in the middle of n_fft elements; None where it is 1 everywhere."""
    if win_length == n_fft:
        return window
    if window is None:
        window = like.new_ones(win_length)
    left = (n_fft - win_length) // 2
    return ROWS["pad"](window, (left, n_fft - win_length - left))


def _check_signal(x: Any, n_fft: int, hop: int, win: int, window: Any) -> None:
    start = f"stft({list(x.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={win}) : expected"
    if x.dtype.category < FLOATING:
        raise RuntimeError(f"{start} a tensor of floating point or complex values, got {x.dtype}")
    if x.ndim not in (1, 2):
        raise RuntimeError(f"{start} a 1D or 2D tensor, got {x.ndim}D")
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"{start} 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{start} hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{start} 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and tuple(window.shape) != (win,):
        raise RuntimeError(
            f"{start} a 1D window tensor of size equal to win_length={win}, but got window "
            f"with size {list(window.shape)}"
        )


def _centered(x: Any, amount: int, mode: str) -> Any:
    lead = x.ndim
    x = x.reshape(*[1] * (3 - lead), *x.shape)
    x = ROWS["pad"](x, (amount, amount), mode)
    return x.reshape(x.shape[3 - lead :])


def _kind(x: Any, window: Any, return_complex: bool | None) -> tuple[bool, bool]:
    """(whether numbers are complex, whether the result is)."""
    many = x.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not many:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and "
                "will further require that return_complex=True in a future PyTorch release."
            )
        return many, True
    if not return_complex:
        if window is not None and window.is_complex():
            raise RuntimeError("Complex windows are incompatible with return_complex=False")
        warn(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will "
            "return complex tensors for all inputs, and return_complex=False will raise an error.",
            UserWarning,
        )
    return many, return_complex


def _no_window(what: str) -> None:
    warn_once(
        f"A window was not provided. A rectangular window will be applied{what}To suppress this warning and "
        "use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
    )


@composite(planned=True)
def stft(
    input,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
):
    """Spectra (..., frequencies, frames) of windows of a signal (..., time), hop_length apart.

    center: frames are centered at multiples of hop_length, the signal continued by pad_mode.
    normalized: spectra are divided by sqrt(n_fft).
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    hop, win = _defaults(n_fft, hop_length, win_length)
    if window is None:
        _no_window(
            ",which is known to cause spectral leakage. Other windows such as torch.hann_window or "
            "torch.hamming_window are recommended to reduce spectral leakage."
        )
    many, as_complex = _kind(input, window, return_complex)
    x = _centered(input, n_fft // 2, pad_mode) if center and 0 < input.ndim < 3 else input
    _check_signal(x, n_fft, hop, win, window)
    window = _window(window, n_fft, win, x)
    if align_to_window:
        x = x.narrow(-1, (n_fft - win) // 2, x.shape[-1] - (n_fft - win))
        x = ROWS["pad"](x, (0, n_fft - win))
    frames = x.unfold(-1, n_fft, hop)
    if window is not None:
        frames = frames * window
    if onesided and many:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    scale, d = "root" if normalized else "none", (frames.ndim - 1,)
    if many:
        found = ROWS["_fft_c2c"](frames, d, scale, True)
    else:
        found = ROWS["_fft_r2c"](frames, d, scale, onesided is not False)
    found = found.transpose(-1, -2)
    return found if as_complex else ROWS["view_as_real"](found)


# --- the way back ---------------------------------------------------------------------------------


def _check_spectra(x: Any, n_fft: int, hop: int, win: int, window: Any, onesided: bool) -> None:
    start = f"istft({list(x.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={win}) :"
    if not x.numel():
        raise RuntimeError(f"{start} input tensor cannot be empty.")
    if x.ndim not in (2, 3):
        raise RuntimeError(f"{start} expected a tensor with 2 or 3 dimensions, got {x.ndim}")
    bins = n_fft // 2 + 1 if onesided else n_fft
    if x.shape[-2] != bins:
        what = "n_fft / 2 + 1 when onesided=True" if onesided else "n_fft when onesided=False"
        raise RuntimeError(
            f"{start} expected the frequency dimension (3rd to the last) of the input tensor "
            f"to match {what}, {bins}, but got {x.shape[-2]}"
        )
    if not 0 < win <= n_fft:
        raise RuntimeError(f"{start} expected 0 < win_length <= n_fft, got {win} and {n_fft}")
    if not 0 < hop <= win:
        raise RuntimeError(f"{start} expected 0 < hop_length <= win_length, got {hop} and {win}")
    if window is not None and tuple(window.shape) != (win,):
        raise RuntimeError(
            f"{start} Invalid window shape. window has to be 1D and length of `win_length`, "
            f"got {list(window.shape)}"
        )


def _overlaid(frames: Any, hop: int) -> Any:
    """Frames (batch, frames, n) added up at distances hop."""
    batch, count, n = frames.shape
    places = tensor_of((np.arange(count)[:, None] * hop + np.arange(n)).reshape(-1))
    into = frames.new_zeros(batch, (count - 1) * hop + n)
    return into.index_add(1, places, frames.reshape(batch, -1))


def _frames(x: Any, n_fft: int, normalized: bool, onesided: bool, return_complex: bool) -> Any:
    scale, d = "root" if normalized else "n", (x.ndim - 1,)
    if not return_complex:
        x = x if onesided else x.narrow(-1, 0, n_fft // 2 + 1)
        return ROWS["_fft_c2r"](x, d, scale, n_fft)
    return ROWS["_fft_c2c"](x, d, scale, False)


def _cut(y: Any, weight: Any, start: int, n_fft: int, center: bool, length: int | None) -> Any:
    """The signal without what lies before its start and behind its end, over the windows' weight."""
    end = y.shape[-1] - (n_fft // 2 if center else 0) if length is None else start + length
    stop = min(end, y.shape[-1])
    y, weight = (t.narrow(-1, start, stop - start) for t in (y, weight))
    if not y._kind.on_meta and float(weight.detach().abs().min()) < 1e-11:
        raise RuntimeError(
            "istft: window overlap add min: 1, expected no point where all windows are 0; use "
            "a shorter hop_length or another window"
        )
    y = y / weight
    if end <= stop:
        return y
    warn(
        "The length of signal is shorter than the length parameter. Result is being padded with "
        "zeros in the tail. Please check your center and hop_length settings.",
        UserWarning,
    )
    return ROWS["pad"](y, (0, end - stop))


@composite
def istft(
    input,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
):
    """The signal (..., time) of spectra (..., frequencies, frames), by least squares: the inverse of stft."""
    if window is None:
        _no_window(".Please provide the same window used by stft to make the inversion lossless.")
    hop, win = _defaults(n_fft, hop_length, win_length)
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    both = onesided is None and input.ndim > 1 and input.shape[-2] == n_fft and n_fft != n_fft // 2 + 1
    onesided = not both if onesided is None else onesided
    _check_spectra(input, n_fft, hop, win, window, onesided)
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    x = input.unsqueeze(0) if input.ndim == 2 else input
    frames = _frames(x.transpose(1, 2), n_fft, normalized, onesided, return_complex)
    window = _window(window, n_fft, win, frames)
    window = ROWS["ones"](n_fft, dtype=frames.dtype, device=frames.device) if window is None else window
    y = _overlaid(frames * window.view(1, 1, n_fft), hop)
    square = (window * window).expand(1, x.shape[-1], n_fft)
    found = _cut(y, _overlaid(square, hop), n_fft // 2 if center else 0, n_fft, center, length)
    return found.squeeze(0) if input.ndim == 2 else found
