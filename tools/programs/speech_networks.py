"""speechbrain: features, embeddings of speakers, a conformer, a recurrent net, CTC."""

import torch
from speechbrain.decoders.ctc import ctc_greedy_decode
from speechbrain.lobes.features import MFCC, Fbank
from speechbrain.lobes.models.CRDNN import CRDNN
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
from speechbrain.lobes.models.transformer.TransformerASR import TransformerASR
from speechbrain.nnet.losses import ctc_loss

torch.manual_seed(0)
sound = torch.randn(2, 4000)
features, cepstra = Fbank()(sound), MFCC()(sound)
print(tuple(features.shape), f"{features.mean().item():.3f} {cepstra.mean().item():.4f}")

torch.set_default_dtype(torch.float64)
speakers = ECAPA_TDNN(
    40,
    channels=[32, 32, 32, 32, 96],
    kernel_sizes=[5, 3, 3, 3, 1],
    dilations=[1, 2, 3, 4, 1],
    attention_channels=16,
    lin_neurons=24,
)
embeddings = speakers(features.double())
embeddings.sum().backward()
gradients = sum(p.grad.abs().sum().item() for p in speakers.parameters())
print(tuple(embeddings.shape), f"{embeddings.abs().mean().item():.5f} {gradients:.2f}")
torch.set_default_dtype(torch.float32)

torch.manual_seed(1)
conformer = TransformerASR(
    tgt_vocab=20,
    input_size=40,
    d_model=32,
    nhead=2,
    num_encoder_layers=2,
    num_decoder_layers=1,
    d_ffn=64,
    dropout=0.0,
    encoder_module="conformer",
    attention_type="RelPosMHAXL",
    normalize_before=True,
    causal=False,
)
encoded, decoded = conformer(features, torch.randint(1, 20, (2, 7)), wav_len=torch.tensor([1.0, 0.7]))
print(tuple(encoded.shape), f"{encoded.abs().mean().item():.4f} {decoded.abs().mean().item():.4f}")
del encoded, decoded  # normalized: their sums are rounding

torch.manual_seed(2)
recurrent = CRDNN(
    input_shape=features.shape,
    cnn_blocks=1,
    cnn_channels=[8],
    rnn_layers=1,
    rnn_neurons=16,
    dnn_blocks=1,
    dnn_neurons=16,
    time_pooling=True,
    dropout=0.0,
)
out = recurrent(features)
print(tuple(out.shape), f"{out.abs().mean().item():.4f}")
scores = torch.randn(2, 30, 10).log_softmax(-1)
loss = ctc_loss(
    scores, torch.randint(1, 10, (2, 5)), torch.tensor([1.0, 0.9]), torch.tensor([1.0, 0.8]), blank_index=0
)
print(f"{loss.item():.4f}", ctc_greedy_decode(scores, torch.tensor([1.0, 0.5]), blank_id=0))
