"""julius, nnAudio, auraloss: resampling, filters, spectrograms that are trained, losses of sound."""

import auraloss
import julius
import torch
from nnAudio.features import CFP, MFCC, STFT, CQT1992v2, Gammatonegram, MelSpectrogram

torch.manual_seed(0)
x = torch.randn(2, 1, 4096)
print(
    f"{julius.resample_frac(x, 4, 3).sum().item():.4f} {julius.lowpass_filter(x, 0.1).abs().sum().item():.3f}"
)
print(
    f"{julius.split_bands(x, 4.0, n_bands=4).abs().sum().item():.2f} {julius.fft_conv1d(x, torch.randn(1, 1, 99)).sum().item():.3f}"
)
s = x[:, 0]
for kind, args in (
    (STFT, {"n_fft": 256, "output_format": "Magnitude"}),
    (MelSpectrogram, {"sr": 8000, "n_fft": 256, "n_mels": 20}),
    (MFCC, {"sr": 8000, "n_mfcc": 10, "n_fft": 256, "n_mels": 20}),
    (CQT1992v2, {"sr": 8000, "fmin": 220, "n_bins": 24}),
    (Gammatonegram, {"sr": 8000, "n_fft": 256, "n_bins": 16}),
):
    layer = kind(**args, verbose=False) if kind is not CFP else kind(**args)
    out = layer(s)
    print(kind.__name__, tuple(out.shape), f"{out.sum().item():.2f}")
mel = MelSpectrogram(sr=8000, n_fft=256, n_mels=20, trainable_mel=True, trainable_STFT=True, verbose=False)
mel(s).mean().backward()
print(f"{mel.mel_basis.grad.sum().item():.4f}")
a, b = torch.randn(2, 1, 4096, requires_grad=True), torch.randn(2, 1, 4096)
for loss in (
    auraloss.time.SISDRLoss(),
    auraloss.time.ESRLoss(),
    auraloss.time.LogCoshLoss(),
    auraloss.time.SNRLoss(),
    auraloss.freq.STFTLoss(),
    auraloss.freq.MultiResolutionSTFTLoss(fft_sizes=[256, 512], hop_sizes=[64, 128], win_lengths=[256, 512]),
):
    a.grad = None
    v = loss(a, b)
    v.backward()
    print(type(loss).__name__, f"{v.item():.5f} {a.grad.abs().sum().item():.5f}")
