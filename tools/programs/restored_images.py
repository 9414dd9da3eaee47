"""Networks of spandrel that restore and enlarge images, small ones: forward, and a step back."""

import torch
from spandrel.architectures.ATD import ATD
from spandrel.architectures.Compact import Compact
from spandrel.architectures.CRAFT import CRAFT
from spandrel.architectures.DAT import DAT
from spandrel.architectures.DITN import DITN
from spandrel.architectures.DnCNN import DnCNN
from spandrel.architectures.DRCT import DRCT
from spandrel.architectures.DRUNet import DRUNet
from spandrel.architectures.ESRGAN import ESRGAN
from spandrel.architectures.FDAT import FDAT
from spandrel.architectures.FFTformer import FFTformer
from spandrel.architectures.GRL import GRL
from spandrel.architectures.HAT import HAT
from spandrel.architectures.HVICIDNet import HVICIDNet
from spandrel.architectures.KBNet import KBNet_s
from spandrel.architectures.MoESR import MoESR
from spandrel.architectures.MoSR import MoSR
from spandrel.architectures.NAFNet import NAFNet
from spandrel.architectures.OmniSR import OmniSR
from spandrel.architectures.PLKSR import PLKSR, RealPLKSR
from spandrel.architectures.RCAN import RCAN
from spandrel.architectures.RealCUGAN import UpCunet2x, UpCunet3x
from spandrel.architectures.RetinexFormer import RetinexFormer
from spandrel.architectures.RGT import RGT
from spandrel.architectures.SAFMN import SAFMN
from spandrel.architectures.SAFMNBCIE import SAFMNBCIE
from spandrel.architectures.SPAN import SPAN
from spandrel.architectures.SwiftSRGAN import SwiftSRGAN
from spandrel.architectures.Swin2SR import Swin2SR
from spandrel.architectures.SwinIR import SwinIR
from spandrel.architectures.Uformer import Uformer

four = {"depths": (1, 1), "num_heads": (2, 2), "embed_dim": 16, "window_size": 8, "upscale": 2}
NETS = {
    "ATD": (
        ATD,
        {**four, "img_size": 16, "num_tokens": 8, "category_size": 32, "upsampler": "pixelshuffle"},
        16,
    ),
    "CRAFT": (CRAFT, {"embed_dim": 24, "depths": [1, 1], "num_heads": [4, 4], "upscale": 2}, 16),
    "Compact": (Compact, {"num_feat": 8, "num_conv": 3, "upscale": 2}, 16),
    "DAT": (
        DAT,
        {"img_size": 16, "embed_dim": 16, "depth": [1], "num_heads": [2], "split_size": [4, 8], "upscale": 2},
        32,
    ),
    "DITN": (DITN, {"dim": 12, "ITL_blocks": 1, "SAL_blocks": 1, "upscale": 2}, 16),
    "DRCT": (DRCT, {**four, "img_size": 16, "upsampler": "pixelshuffle", "gc": 8}, 16),
    "DRUNet": (DRUNet, {"in_nc": 4, "out_nc": 3, "nc": [8, 8, 12, 16], "nb": 1}, 16),
    "DnCNN": (DnCNN, {"in_nc": 3, "out_nc": 3, "nc": 8, "nb": 4}, 16),
    "ESRGAN": (ESRGAN, {"num_filters": 8, "num_blocks": 2, "scale": 2}, 16),
    "FDAT": (FDAT, {"embed_dim": 16, "num_groups": 1, "depth_per_group": 2, "num_heads": 2, "scale": 2}, 16),
    "FFTformer": (FFTformer, {"dim": 8, "num_blocks": [1, 1, 1], "num_refinement_blocks": 1}, 32),
    "GRL": (
        GRL,
        {
            "img_size": 16,
            "embed_dim": 16,
            "depths": [2],
            "num_heads_window": [2],
            "num_heads_stripe": [2],
            "upscale": 2,
            "upsampler": "pixelshuffle",
        },
        16,
    ),
    "HAT": (HAT, {**four, "img_size": 16, "upsampler": "pixelshuffle", "squeeze_factor": 4}, 16),
    "HVICIDNet": (HVICIDNet, {"channels": [8, 8, 16, 16], "heads": [1, 2, 2, 4]}, 32),
    "KBNet_s": (
        KBNet_s,
        {"width": 8, "middle_blk_num": 1, "enc_blk_nums": [1, 1], "dec_blk_nums": [1, 1]},
        16,
    ),
    "MoESR": (MoESR, {"dim": 16, "n_blocks": 1, "n_block": 1, "scale": 2}, 16),
    "MoSR": (MoSR, {"dim": 16, "n_block": 2, "upscale": 2}, 16),
    "NAFNet": (NAFNet, {"width": 8, "enc_blk_nums": [1, 1], "dec_blk_nums": [1, 1]}, 16),
    "OmniSR": (OmniSR, {"num_feat": 16, "up_scale": 2}, 16),
    "PLKSR": (PLKSR, {"dim": 16, "n_blocks": 2, "upscaling_factor": 2}, 16),
    "RealPLKSR": (RealPLKSR, {"dim": 16, "n_blocks": 2, "upscaling_factor": 2, "dysample": True}, 16),
    "RCAN": (RCAN, {"n_resgroups": 1, "n_resblocks": 2, "n_feats": 16, "scale": 2, "reduction": 4}, 16),
    "RGT": (
        RGT,
        {"img_size": 16, "embed_dim": 16, "depth": [2], "num_heads": [2], "split_size": [4, 8], "upscale": 2},
        32,
    ),
    "UpCunet2x": (UpCunet2x, {}, 32),
    "UpCunet3x": (UpCunet3x, {}, 32),
    "RetinexFormer": (RetinexFormer, {"n_feat": 8, "stage": 1}, 16),
    "SAFMN": (SAFMN, {"dim": 8, "n_blocks": 2, "upscaling_factor": 2}, 16),
    "SAFMNBCIE": (SAFMNBCIE, {"dim": 8, "n_blocks": 2, "num_layers": 2}, 16),
    "SPAN": (SPAN, {"num_in_ch": 3, "num_out_ch": 3, "feature_channels": 8, "upscale": 2}, 16),
    "Swin2SR": (Swin2SR, {**four, "img_size": 16, "upsampler": "pixelshuffle"}, 16),
    "SwinIR": (SwinIR, {**four, "img_size": 16, "upsampler": "nearest+conv"}, 16),
    "SwiftSRGAN": (SwiftSRGAN, {"num_channels": 8, "num_blocks": 2, "upscale_factor": 2}, 16),
    "Uformer": (
        Uformer,
        {
            "img_size": 64,
            "embed_dim": 8,
            "depths": [1] * 9,
            "num_heads": [1, 1, 2, 2, 2, 2, 2, 1, 1],
            "win_size": 4,
        },
        64,
    ),
}

for name, (kind, options, size) in NETS.items():
    torch.manual_seed(0)
    net = kind(**options).eval()
    x = torch.rand(2, 4 if name == "DRUNet" else 3, size, size)
    with torch.no_grad():
        y = net(x)
    print(name, tuple(y.shape), f"{y.double().sum():.5e} {y.double().std():.5e}")
    net.train()
    net(x).pow(2).mean().backward()
    grads = [p.grad.double().abs().sum().item() for p in net.parameters() if p.grad is not None]
    print(name, len(grads), f"{sum(grads):.4e}")
