"""torchaudio's operators by the names that they have in torch.ops.torchaudio and torch.ops._torchaudio."""

from __future__ import annotations

import sys

from rushlight import Tensor
from rushlight.library import Library
from rushlight_audio import compiled
from rushlight_audio.alignment import forced_align
from rushlight_audio.recurrences import core_loop, lfilter, overdrive_loop
from rushlight_audio.transducer import rnnt_loss, rnnt_loss_forward


def _forced_align(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """As forced_align; for torchaudio up to 2.8, which expects it, with the labels' own scores, (1, T)."""
    paths, scores = forced_align(log_probs, targets, input_lengths, target_lengths, blank)
    version = getattr(sys.modules.get("torchaudio"), "__version__", "2.11")
    if tuple(int(part) for part in version.split(".")[:2]) < (2, 9):
        scores = scores.gather(-1, paths.long().unsqueeze(-1))[..., 0]
    return paths, scores


_TRANSDUCER = (
    "(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, "
    "bool fused_log_softmax) -> (Tensor, Tensor)"
)
_OPERATORS = (
    ("torchaudio", "_lfilter(Tensor waveform, Tensor a_coeffs, Tensor b_coeffs) -> Tensor", lfilter),
    (
        "torchaudio",
        "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, "
        "Tensor(a!) padded_output_waveform) -> Tensor(a!)",
        core_loop,
    ),
    (
        "torchaudio",
        "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, "
        "Tensor(c!) output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
        overdrive_loop,
    ),
    (
        "torchaudio",
        "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, "
        "int blank) -> (Tensor, Tensor)",
        _forced_align,
    ),
    ("torchaudio", f"rnnt_loss{_TRANSDUCER}", rnnt_loss),
    ("torchaudio", f"rnnt_loss_forward{_TRANSDUCER}", rnnt_loss_forward),
    ("_torchaudio", "is_align_available() -> bool", compiled.is_align_available),
    ("_torchaudio", "cuda_version() -> int?", compiled.cuda_version),
)
_libraries = {name: Library(name, "DEF") for name in ("torchaudio", "_torchaudio")}
for _space, _schema, _function in _OPERATORS:
    # What writes into memory is one op to those who hear of ops; the others are made of ops.
    _key = "CompositeExplicitAutograd" if "!" in _schema else "CompositeImplicitAutograd"
    _libraries[_space].impl(_libraries[_space].define(_schema), _function, _key)
