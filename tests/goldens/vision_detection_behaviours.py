"""What torchvision's detectors and networks of video do; its answers: vision_detection_behaviours.json."""

from __future__ import annotations

from functools import partial
from typing import Any

from answers import Table
from vision_behaviours import module
from vision_models_behaviours import _answers, described, ran

DETECTION = Table("vision_detection_behaviours.json")


def _backbone(torch: Any, channels: int, out_channels: Any) -> Any:
    """Two levels of features."""
    nn = torch.nn

    class Backbone(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, channels, 3, stride=4, padding=1)
            self.second = nn.Conv2d(channels, channels, 3, stride=2, padding=1)
            self.out_channels = out_channels

        def forward(self, x: Any) -> dict[str, Any]:
            x = self.first(x)
            return {"0": x, "1": self.second(x)}

    return Backbone()


def _targets(torch: Any) -> list[dict[str, Any]]:
    """Objects of two images; the second has boxes alone."""
    found = []
    for height, width in ((60, 70), (50, 64)):
        boxes = torch.rand(3, 4, dtype=torch.float64) * 20
        boxes[:, 2:] += boxes[:, :2] + 3
        keypoints = torch.cat([torch.rand(3, 5, 2) * 30, torch.ones(3, 5, 1)], -1)
        masks = (torch.rand(3, height, width) > 0.5).to(torch.uint8)
        labels = torch.randint(1, 4, (3,))
        found.append({"boxes": boxes, "labels": labels, "masks": masks, "keypoints": keypoints})
    return found


def _detected(torch: Any, make: Any) -> list[Any]:
    """Losses, their gradients and detections, computed in float64 and given as float32."""
    model = make()
    facts = described(model)
    model = model.double().train()
    images = [torch.rand(3, 60, 70, dtype=torch.float64), torch.rand(3, 50, 64, dtype=torch.float64)]
    losses = model(images, _targets(torch))
    sum(losses.values()).backward()
    grads = sum(p.grad.abs().sum() for p in model.parameters() if p.grad is not None)
    with torch.no_grad():
        found = model.eval()(images)
    told = [
        [[k, list(v.shape), v.double().sum().float(), v.reshape(-1)[:3].float()] for k, v in one.items()]
        for one in found
    ]
    return [facts, [[k, v.detach().float()] for k, v in losses.items()], grads.float(), told]


def _two_stages(torch: Any, name: str, **more: Any) -> Any:
    d, ops = module(torch, "models.detection"), module(torch, "ops")
    anchors = module(torch, "models.detection.anchor_utils")
    pool = partial(ops.MultiScaleRoIAlign, ["0", "1"], sampling_ratio=2, canonical_scale=16)
    parts = {k: pool(output_size=v) if k.endswith("pool") else v for k, v in more.items()}
    return lambda: getattr(d, name)(
        _backbone(torch, 8, 8),
        4,
        min_size=(60, 64),
        max_size=100,
        rpn_anchor_generator=anchors.AnchorGenerator(((8,), (16,)), ((0.5, 1.0, 2.0),) * 2),
        rpn_pre_nms_top_n_train=100,
        rpn_pre_nms_top_n_test=40,
        rpn_post_nms_top_n_train=40,
        rpn_post_nms_top_n_test=20,
        box_roi_pool=pool(output_size=3),
        box_detections_per_img=6,
        **parts,
    )


@DETECTION
def detectors_of_two_stages(torch: Any) -> Any:
    return [
        _detected(torch, _two_stages(torch, "FasterRCNN")),
        _detected(torch, _two_stages(torch, "MaskRCNN", mask_roi_pool=4)),
        _detected(torch, _two_stages(torch, "KeypointRCNN", keypoint_roi_pool=4, num_keypoints=5)),
    ]


@DETECTION
def detectors_of_one_stage(torch: Any) -> Any:
    d = module(torch, "models.detection")
    anchors, ssd = module(torch, "models.detection.anchor_utils"), module(torch, "models.detection.ssd")
    sizes = {"min_size": 64, "max_size": 100, "score_thresh": 0.001, "detections_per_img": 6}
    generator = anchors.AnchorGenerator(((8,), (16,)), ((0.5, 1.0, 2.0),) * 2)
    single = anchors.AnchorGenerator(((4,), (8,)), ((1.0,),) * 2)
    boxes = anchors.DefaultBoxGenerator([[2], [2, 3]])
    wide = partial(_backbone, torch, 32, 32)
    return [
        _detected(
            torch, lambda: d.RetinaNet(wide(), 4, anchor_generator=generator, topk_candidates=30, **sizes)
        ),
        _detected(torch, lambda: d.FCOS(wide(), 4, anchor_generator=single, topk_candidates=30, **sizes)),
        _detected(
            torch,
            lambda: ssd.SSD(
                _backbone(torch, 8, [8, 8]), boxes, (64, 48), 4, detections_per_img=6, topk_candidates=20
            ),
        ),
    ]


@DETECTION
def builders_of_detectors(torch: Any) -> Any:
    d, found = module(torch, "models.detection"), {}
    for name in (
        "fasterrcnn_resnet50_fpn",
        "fasterrcnn_resnet50_fpn_v2",
        "fasterrcnn_mobilenet_v3_large_fpn",
        "fasterrcnn_mobilenet_v3_large_320_fpn",
        "maskrcnn_resnet50_fpn",
        "maskrcnn_resnet50_fpn_v2",
        "keypointrcnn_resnet50_fpn",
        "retinanet_resnet50_fpn",
        "retinanet_resnet50_fpn_v2",
        "fcos_resnet50_fpn",
        "ssd300_vgg16",
        "ssdlite320_mobilenet_v3_large",
    ):
        with torch.device("meta"):
            found[name] = described(getattr(d, name)(weights_backbone=None, num_classes=3))
    return found


@DETECTION
def parts_of_detectors(torch: Any) -> Any:
    u = module(torch, "models.detection._utils")
    t, r = module(torch, "models.detection.transform"), module(torch, "models.detection.roi_heads")
    anchors = module(torch, "models.detection.anchor_utils")
    boxes, others = (torch.rand(4, 4) * 10 for _ in range(2))
    boxes[:, 2:] += boxes[:, :2] + 1
    others[:, 2:] += others[:, :2] + 1
    quality = torch.rand(3, 6)
    matchers = [u.Matcher(0.7, 0.3), u.Matcher(0.7, 0.3, True), u.SSDMatcher(0.5)]
    linear, coder = u.BoxLinearCoder(), u.BoxCoder((10.0, 10.0, 5.0, 5.0))
    transform = t.GeneralizedRCNNTransform(40, 60, [0.5] * 3, [0.2] * 3)
    images, _ = transform.eval()([torch.rand(3, 30, 50), torch.rand(3, 20, 10)])
    masks, _ = r.expand_masks(torch.rand(2, 1, 4, 4), 1)
    return [
        [m(quality) for m in matchers],
        u.BalancedPositiveNegativeSampler(4, 0.25)([torch.tensor([0, 1, -1, 0, 2, 1, 0, 0])]),
        coder.encode([boxes], [others]),
        coder.decode(torch.randn(4, 8), [boxes]),
        linear.encode(boxes, others),
        linear.decode(torch.rand(4, 4), boxes),
        [
            u._box_loss(k, coder, boxes, others, torch.randn(4, 4))
            for k in ("l1", "smooth_l1", "ciou", "giou")
        ],
        anchors.AnchorGenerator().cell_anchors,
        repr(anchors.DefaultBoxGenerator([[2], [3]], steps=[8, 16])),
        [list(images.tensors.shape), images.image_sizes, images.tensors.double().sum().float()],
        repr(transform),
        masks,
        r.paste_masks_in_image(
            torch.rand(2, 1, 4, 4), torch.tensor([[1.0, 2, 6, 7], [-3, 4, 5, 20]]), (9, 11)
        ),
        r.keypoints_to_heatmap(torch.rand(2, 3, 3) * 9, torch.tensor([[0.0, 0, 9, 9], [2, 2, 6, 8]]), 5),
        r.heatmaps_to_keypoints(torch.rand(2, 3, 5, 5), torch.tensor([[0.0, 0, 9, 9], [2, 2, 6, 8]])),
    ]


@DETECTION
def what_detectors_refuse(torch: Any) -> Any:
    return _answers(
        torch,
        """
        s.faster_rcnn.FasterRCNN(nn.Identity(), 2)
        s.faster_rcnn.FasterRCNN(resnet(), 2, box_predictor=nn.Identity())
        s.faster_rcnn.FasterRCNN(resnet())
        s.faster_rcnn.FasterRCNN(resnet(), 2, rpn_anchor_generator=3)
        s.faster_rcnn.FasterRCNN(resnet(), 2)([torch.zeros(3, 9, 9)])
        s.faster_rcnn.FasterRCNN(resnet(), 2)([torch.zeros(3, 9, 9)], [{"boxes": torch.zeros(1, 4)}])
        s.faster_rcnn.FasterRCNN(resnet(), 2)([torch.zeros(3, 9, 9)], [{"boxes": torch.zeros(4)}])
        s.faster_rcnn.FasterRCNN(resnet(), 2).eval()([torch.zeros(9, 9)])
        s.faster_rcnn.FasterRCNN(resnet(), 2).eval()([torch.zeros(3, 9, 9).int()])
        s.transform.resize_boxes(b, (3, 4), (6, 9))
        s.anchor_utils.DefaultBoxGenerator([[2]], steps=[1, 2])
        s._utils.Matcher(0.3, 0.5)
        s._utils.Matcher(0.5, 0.3)(torch.zeros(0, 3))
        s._utils.Matcher(0.5, 0.3)(torch.zeros(3, 0))
        s.backbone_utils._validate_trainable_layers(True, 9, 5, 3)
        [s.backbone_utils._validate_trainable_layers(*a, 5, 3) for a in ((True, None), (False, None), (True, 2))]
    """.replace("s.", "module('models.detection').").replace("resnet()", "backbone()"),
        {
            "backbone": partial(_backbone, torch, 8, 8),
            "module": partial(_with_parts, torch),
        },
    )


def _with_parts(torch: Any, name: str) -> Any:
    for part in ("faster_rcnn", "transform", "anchor_utils", "_utils", "backbone_utils"):
        module(torch, f"{name}.{part}")
    return module(torch, name)


@DETECTION
def rotated_boxes_and_levels(torch: Any) -> Any:
    return _answers(
        torch,
        """
        [o.box_convert(r, i, k) for i in ("xywhr", "cxcywhr") for k in ("xywhr", "cxcywhr", "xyxyxyxy")]
        [o.box_convert(r.int(), i, k) for i in ("xywhr", "cxcywhr") for k in ("xywhr", "cxcywhr", "xyxyxyxy")]
        [o.box_convert(o.box_convert(r, "xywhr", "xyxyxyxy"), "xyxyxyxy", k) for k in ("xywhr", "cxcywhr")]
        o.box_convert(r, "xywhr", "xyxy")
        [o.box_area(b, f) for f in ("xyxy", "xywh", "cxcywh")], o.box_iou(b, c, "cxcywh")
        o.MultiScaleRoIAlign(["a", "b"], 2, 2, canonical_scale=8)({"a": x, "b": x[:, :, ::2, ::2]}, [b[:4] / 3, c[:3] / 3], [(12, 10)] * 2)
        o.MultiScaleRoIAlign(["a"], (2, 3), 2), o.PSRoIPool(3, 0.5), o.PSRoIAlign(3, 0.5, 2)
        o.DeformConv2d(2, 4, 3, padding=1, dilation=2, groups=2, bias=False)
        o.DeformConv2d(2, 4, 3).weight, o.DeformConv2d(2, 4, 3).bias
        o.DeformConv2d(3, 4, 3, groups=2)
    """,
        {"r": torch.tensor([[10.0, 20, 4, 6, 30], [3, 4, 5, 2, -100]])},
    )


@DETECTION
def more_classifiers(torch: Any) -> Any:
    m, swin = module(torch, "models"), module(torch, "models.swin_transformer")
    found = {}
    for name in ("inception_v3", "maxvit_t", "swin_v2_t", "swin_v2_s", "swin_v2_b", "r3d_18", "mc3_18"):
        with torch.device("meta"):
            found[name] = described(m.get_model(name, **({"init_weights": False} if name[0] == "i" else {})))
    for name in ("r2plus1d_18", "s3d"):
        with torch.device("meta"):
            found[name] = described(m.get_model(name))
    second = {"block": swin.SwinTransformerBlockV2, "downsample_layer": swin.PatchMergingV2}
    made = partial(m.SwinTransformer, [4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=5, **second)
    small = [
        ran(torch, made(), 2, 3, 44, 40),
        ran(torch, made(dropout=0.1, attention_dropout=0.1, stochastic_depth_prob=0.5), 4, 3, 32, 32),
        ran(torch, m.MaxVit((32, 32), 8, 2, [8, 16], [1, 2], 4, 0.2, num_classes=5), 2, 3, 32, 32),
    ]
    inception = m.inception_v3(num_classes=5, init_weights=False, transform_input=True).double().eval()
    with torch.no_grad():
        small.append(inception(torch.randn(1, 3, 75, 75, dtype=torch.float64)).float())
        small.append(inception.AuxLogits(torch.randn(2, 768, 17, 17, dtype=torch.float64)).float())
    for kind in ("r3d_18", "mc3_18", "r2plus1d_18"):
        small.append(ran(torch, m.get_model(kind, num_classes=3), 2, 3, 4, 32, 32)[:2])
    return found, small


@DETECTION
def weights_of_detectors_and_videos(torch: Any) -> Any:
    return _answers(
        torch,
        """
        m.detection.FasterRCNN_ResNet50_FPN_Weights.DEFAULT, m.detection.SSD300_VGG16_Weights.COCO_V1.url
        m.detection.MaskRCNN_ResNet50_FPN_V2_Weights.DEFAULT.meta["categories"][:3]
        list(m.detection.KeypointRCNN_ResNet50_FPN_Weights), m.detection.KeypointRCNN_ResNet50_FPN_Weights.DEFAULT.meta["keypoint_names"]
        [len(m.get_model_weights(n).DEFAULT.meta["categories"]) for n in ("resnet18", "fcn_resnet50", "s3d", "fcos_resnet50_fpn")]
        [m.get_model_weights(n).DEFAULT.transforms() for n in ("r3d_18", "mc3_18", "s3d", "ssd300_vgg16")]
        m.get_model_weights("r3d_18").DEFAULT.transforms()(torch.arange(2 * 3 * 130 * 140).reshape(2, 3, 130, 140).to(torch.uint8)).sum()
        m.list_models(m.detection), m.list_models(include="r*d_18")
        m.detection.fasterrcnn_resnet50_fpn(weights="DEFAULT", num_classes=3)
        m.detection.retinanet_resnet50_fpn(weights="nope")
        u._ovewrite_named_param({"a": 1}, "a", 2)
        u._ovewrite_value_param("a", None, 2), u._ovewrite_value_param("a", 2, 2)
        u._ovewrite_value_param("a", 1, 2)
    """,
        {},
    )
