"""batchgeneratorsv2: the transforms of nnU-Net on images and volumes."""

import random

import numpy as np
import torch
from batchgeneratorsv2.transforms.intensity.brightness import MultiplicativeBrightnessTransform
from batchgeneratorsv2.transforms.intensity.contrast import BGContrast, ContrastTransform
from batchgeneratorsv2.transforms.intensity.gamma import GammaTransform
from batchgeneratorsv2.transforms.intensity.gaussian_noise import GaussianNoiseTransform
from batchgeneratorsv2.transforms.noise.gaussian_blur import GaussianBlurTransform
from batchgeneratorsv2.transforms.noise.median_filter import MedianFilterTransform
from batchgeneratorsv2.transforms.noise.rician import RicianNoiseTransform
from batchgeneratorsv2.transforms.noise.sharpen import SharpeningTransform
from batchgeneratorsv2.transforms.spatial.low_resolution import SimulateLowResolutionTransform
from batchgeneratorsv2.transforms.spatial.mirroring import MirrorTransform
from batchgeneratorsv2.transforms.spatial.rot90 import Rot90Transform
from batchgeneratorsv2.transforms.spatial.spatial import SpatialTransform
from batchgeneratorsv2.transforms.spatial.transpose import TransposeAxesTransform
from batchgeneratorsv2.transforms.utils.deep_supervision_downsampling import DownsampleSegForDSTransform
from batchgeneratorsv2.transforms.utils.remove_label import RemoveLabelTansform


def seed():
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)


for sh in ((20, 24), (12, 14, 16)):
    seed()
    img = torch.rand(2, *sh)
    seg = torch.randint(-1, 3, (1, *sh)).to(torch.int16)
    ts = dict(
        noise=lambda: GaussianNoiseTransform(
            noise_variance=(0, 0.1), p_per_channel=1, synchronize_channels=True
        ),
        blur=lambda: GaussianBlurTransform(
            blur_sigma=(0.5, 1.0),
            synchronize_channels=False,
            synchronize_axes=False,
            p_per_channel=1,
            benchmark=False,
        ),
        bright=lambda: MultiplicativeBrightnessTransform(
            multiplier_range=BGContrast((0.75, 1.25)), synchronize_channels=False, p_per_channel=1
        ),
        contrast=lambda: ContrastTransform(
            contrast_range=BGContrast((0.75, 1.25)),
            preserve_range=True,
            synchronize_channels=False,
            p_per_channel=1,
        ),
        low=lambda: SimulateLowResolutionTransform(
            scale=(0.5, 1),
            synchronize_channels=False,
            synchronize_axes=True,
            ignore_axes=None,
            allowed_channels=None,
            p_per_channel=1,
        ),
        gamma=lambda: GammaTransform(
            gamma=BGContrast((0.7, 1.5)),
            p_invert_image=1,
            synchronize_channels=False,
            p_per_channel=1,
            p_retain_stats=1,
        ),
        mirror=lambda: MirrorTransform(allowed_axes=tuple(range(len(sh)))),
        spatial=lambda: SpatialTransform(
            tuple(s - 4 for s in sh),
            patch_center_dist_from_border=0,
            random_crop=False,
            p_elastic_deform=1,
            p_rotation=1,
            rotation=(-0.5, 0.5),
            p_scaling=1,
            scaling=(0.7, 1.4),
            p_synchronize_scaling_across_axes=1,
            bg_style_seg_sampling=False,
        ),
        median=lambda: MedianFilterTransform(filter_size=(2, 4), p_same_for_each_channel=0, p_per_channel=1),
        sharpen=lambda: SharpeningTransform(strength=(0.1, 1), p_same_for_each_channel=0, p_per_channel=1),
        rician=lambda: RicianNoiseTransform(noise_variance=(0, 0.1)),
        ds=lambda: DownsampleSegForDSTransform([1, 0.5]),
        rm=lambda: RemoveLabelTansform(-1, 0),
        rot=lambda: Rot90Transform(),
        tr=lambda: TransposeAxesTransform(allowed_axes=set(range(len(sh)))),
    )
    for n, t in ts.items():
        seed()
        try:
            r = t()(image=img.clone(), segmentation=seg.clone())
            s_ = r["segmentation"]
            print(
                n,
                len(sh),
                tuple(r["image"].shape),
                float(r["image"].double().sum()),
                float(r["image"].double().pow(2).sum()),
                [int(q.long().sum()) for q in (s_ if isinstance(s_, list) else [s_])],
                (s_[0] if isinstance(s_, list) else s_).dtype,
            )
        except Exception as ex:
            print(n, type(ex).__name__, str(ex)[:100])
