"""silero-vad: a trained network that its package ships as a TorchScript file, on a made-up voice."""

import torch
from silero_vad import get_speech_timestamps, load_silero_vad

rate = 16000
time = torch.arange(rate * 2) / rate
pitch = 140 + 30 * torch.sin(2 * torch.pi * 1.5 * time)
phase = torch.cumsum(2 * torch.pi * pitch / rate, 0)
voice = sum(torch.sin(k * phase) / k**1.2 for k in range(1, 20))
envelope = (torch.sin(2 * torch.pi * 2 * time) > -0.3).float()
sound = 0.2 * voice * envelope + 0.003 * torch.randn(len(time))

# A network that was saved by PyTorch's TorchScript.
del voice  # its sum is nearly zero
detector = load_silero_vad()
with torch.no_grad():
    for chunk in sound[: 512 * 20].split(512):
        print("voice in 32 ms:", round(detector(chunk, rate).item(), 5))
detector.reset_states()
print(get_speech_timestamps(sound, detector, sampling_rate=rate, threshold=0.3))
print(get_speech_timestamps(sound[::2], detector, sampling_rate=8000, return_seconds=True))
