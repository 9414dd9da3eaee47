"""Networks and signal processing for sound: codecs, separation, vocoding, diffsptk; four steps of each."""

import diffsptk
import torch
from demucs.htdemucs import HTDemucs
from encodec.modules import SEANetDecoder, SEANetEncoder
from snac import SNAC
from vocos.heads import ISTFTHead
from vocos.models import VocosBackbone


def given(*sizes):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def trained(name, module, loss):
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=1e-3, momentum=0.9)
    losses = []
    for step in range(4):
        torch.manual_seed(step)
        optimizer.zero_grad()
        found = loss(module)
        found.backward()
        optimizer.step()
        losses.append(float(found.detach()))
    gradients = sum(float(p.grad.abs().sum()) for p in module.parameters() if p.grad is not None)
    print(name, *(f"{x:.5e}" for x in losses), f"{gradients:.5e}")


wave = given(1, 1, 1024)
sizes = {"channels": 1, "dimension": 8, "n_filters": 4, "ratios": [4, 2], "lstm": 1}
codec = torch.nn.Sequential(SEANetEncoder(**sizes), SEANetDecoder(**sizes))
trained("encodec", codec, lambda m: (m(wave) - wave).square().mean())
rates = {"encoder_rates": [2, 4], "decoder_rates": [4, 2], "vq_strides": [2, 1], "attn_window_size": None}
snac = SNAC(8000, encoder_dim=4, decoder_dim=16, codebook_size=16, codebook_dim=4, **rates)
trained("snac", snac, lambda m: (m(wave)[0] - wave).square().mean())
vocos = torch.nn.Sequential(VocosBackbone(20, 16, 32, 2), ISTFTHead(16, 64, 16, "same"))
trained("vocos", vocos, lambda m: m(given(2, 20, 12)).square().mean())
small = {"depth": 3, "t_layers": 1, "t_heads": 2, "segment": 1, "bottom_channels": 16}
demucs = HTDemucs(["a", "b"], channels=8, nfft=512, samplerate=8000, **small)
trained("demucs", demucs, lambda m: m(given(1, 2, 8000)).abs().mean())


class Scaled(torch.nn.Module):
    """An operation of samples that have been scaled."""

    def __init__(self, number, operation):
        super().__init__()
        self.scale, self.operation = torch.nn.Parameter(torch.ones(number)), operation

    def forward(self, x):
        return self.operation(x * self.scale)


bands = {"fft_length": 512, "n_channel": 20, "sample_rate": 8000}
cepstrum = {"cep_order": 12, "fft_length": 128, "alpha": 0.3, "n_iter": 3}
for x, operation in (
    (given(2, 400), diffsptk.STFT(80, 40, 128)),
    (given(3, 16), diffsptk.DCT(16)),
    (given(1, 800), diffsptk.CQT(100, 8000)),
    (given(1, 1, 400), diffsptk.PQMF(4, 31)),
    (given(3, 9), diffsptk.FrequencyTransform(8, 10, 0.3)),
    (given(3, 9), diffsptk.ParcorCoefficientsToLinearPredictiveCoefficients(8)),
    (given(2, 257).abs() + 0.1, diffsptk.MFCC(mfcc_order=12, **bands)),
    (given(2, 257).abs() + 0.1, diffsptk.MelFilterBankAnalysis(**bands)),
    (given(3, 65).abs() + 0.1, diffsptk.MelCepstralAnalysis(**cepstrum)),
):
    module = Scaled(x.shape[-1], operation)
    trained(type(operation).__name__, module, lambda m, x=x: m(x).abs().log1p().mean())
