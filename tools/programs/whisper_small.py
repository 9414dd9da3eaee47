"""openai-whisper: a small network of its kind; greedy, beam and sampled decoding, word times."""

import torch
import whisper
from whisper.decoding import DecodingOptions, decode
from whisper.model import ModelDimensions, Whisper
from whisper.timing import dtw, median_filter

torch.manual_seed(0)
dims = ModelDimensions(
    n_mels=80,
    n_audio_ctx=1500,
    n_audio_state=64,
    n_audio_head=2,
    n_audio_layer=2,
    n_vocab=51865,
    n_text_ctx=448,
    n_text_state=64,
    n_text_head=2,
    n_text_layer=2,
)
m = Whisper(dims)
for p in m.parameters():
    torch.nn.init.normal_(p, std=0.05)
m.eval()
audio = torch.sin(torch.arange(16000 * 2) * 0.05)
mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(audio))
print(mel.shape, f"{mel.sum().item():.3f}")
with torch.no_grad():
    f = m.encoder(mel[None])
    print(f"{f.abs().sum().item():.3f}")
    lo = m(mel[None], torch.tensor([[50258, 50259, 50359]]))
    print(lo.shape, f"{lo.abs().sum().item():.2f}")
r = decode(m, mel, DecodingOptions(language="en", sample_len=8, fp16=False, without_timestamps=True))
print(r.tokens, f"{r.avg_logprob:.4f} {r.no_speech_prob:.6f}")
r = decode(m, mel, DecodingOptions(language="en", sample_len=6, fp16=False, beam_size=3))
print(r.tokens, f"{r.avg_logprob:.4f}")
torch.manual_seed(1)
r = decode(m, mel, DecodingOptions(language="en", sample_len=6, fp16=False, temperature=0.7, best_of=2))
print(r.tokens, f"{r.avg_logprob:.4f}")

print(
    median_filter(torch.rand(1, 3, 20), 5).sum().item() > 0,
    dtw(torch.tensor([[1.0, 2, 3], [2, 1, 2], [3, 3, 1]])),
)
m.train()
lo = m(mel[None], torch.tensor([[50258, 50259, 50359]]))
lo.logsumexp(-1).sum().backward()
print(f"{m.decoder.token_embedding.weight.grad.abs().sum().item():.4f}")
