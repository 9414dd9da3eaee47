"""open_clip: a small CLIP built from a configuration, its losses, steps of training."""

import open_clip
import torch
from open_clip.loss import ClipLoss, SigLipLoss

torch.manual_seed(0)
vision = {"image_size": 32, "layers": 2, "width": 32, "head_width": 8, "patch_size": 8}
text = {"context_length": 16, "vocab_size": 100, "width": 32, "heads": 4, "layers": 2}
images, tokens = torch.randn(4, 3, 32, 32), torch.randint(1, 100, (4, 16))
for kind in (open_clip.CLIP, open_clip.CustomTextCLIP):
    for quick in (False, True):
        model = kind(embed_dim=16, vision_cfg=dict(vision), text_cfg=dict(text), quick_gelu=quick)
        opt, losses = torch.optim.AdamW(model.parameters(), 1e-3), []
        for _ in range(3):
            i, t, scale = model(images, tokens)
            loss = ClipLoss()(i, t, scale)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(f"{loss.item():.5f}")
        print(kind.__name__, quick, losses, f"{SigLipLoss()(i, t, scale, torch.tensor(0.1)).item():.5f}")
resnet = open_clip.CLIP(
    embed_dim=16,
    vision_cfg={"image_size": 64, "layers": [1, 1, 1, 1], "width": 8, "patch_size": None},
    text_cfg=dict(text),
)
print(f"{resnet.encode_image(torch.randn(2, 3, 64, 64)).sum().item():.4f}")
tokenizer = open_clip.SimpleTokenizer()
print(tokenizer(["a photo of a cat", "two dogs"])[:, :8].tolist())
