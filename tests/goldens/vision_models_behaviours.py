"""What torchvision's models and ops do, as functions of torch; its answers: vision_models_behaviours.json."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

from answers import Table, attempt, split
from vision_behaviours import module, told

MODELS = Table("vision_models_behaviours.json")

# Every builder is described on the meta device. Those named with a size are also run, on images of that size.
BUILDERS = {
    "alexnet": "alexnet",
    "convnext": "convnext_tiny:64 convnext_small convnext_base convnext_large",
    "densenet": "densenet121:64 densenet161 densenet169 densenet201",
    "efficientnet": "efficientnet_b0:64 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 "
    "efficientnet_b5 efficientnet_b6 efficientnet_b7 efficientnet_v2_s:64 efficientnet_v2_m "
    "efficientnet_v2_l",
    "mnasnet": "mnasnet0_5:64 mnasnet0_75 mnasnet1_0 mnasnet1_3",
    "mobilenet": "mobilenet_v2:64 mobilenet_v3_large mobilenet_v3_small:64",
    "regnet": "regnet_x_400mf:64 regnet_x_800mf regnet_x_1_6gf regnet_x_3_2gf regnet_x_8gf regnet_x_16gf "
    "regnet_x_32gf regnet_y_400mf:64 regnet_y_800mf regnet_y_1_6gf regnet_y_3_2gf regnet_y_8gf "
    "regnet_y_16gf regnet_y_32gf",
    "resnet": "resnet18:64 resnet34 resnet50:64 resnet101 resnet152 resnext50_32x4d resnext101_32x8d "
    "resnext101_64x4d wide_resnet50_2 wide_resnet101_2",
    "shufflenet": "shufflenet_v2_x0_5:64 shufflenet_v2_x1_0 shufflenet_v2_x1_5 shufflenet_v2_x2_0",
    "squeezenet": "squeezenet1_0:64 squeezenet1_1:64",
    "swin_transformer": "swin_t:96 swin_s swin_b",
    "vgg": "vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn",
    "vision_transformer": "vit_b_16 vit_b_32 vit_l_16 vit_l_32 vit_h_14",
}


def _digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:12]


def described(model: Any) -> list[Any]:
    """How many values a model keeps, and digests of their names, shapes and dtypes and of its repr."""
    kept = model.state_dict()
    return [
        len(kept),
        _digest(str([(k, tuple(v.shape), str(v.dtype).split(".")[1]) for k, v in kept.items()])),
        _digest(repr(model)),
    ]


def ran(torch: Any, model: Any, *shape: int) -> list[Any]:
    """First values, answers in both modes and gradients: computed in float64, given as float32."""
    first = sum(v.double().abs().sum() for v in model.state_dict().values())
    x = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    model = model.double().eval()
    with torch.no_grad():
        calm = model(x)
    torch.manual_seed(7)
    found = model.train()(x)
    tensors = (
        list(found.values())
        if isinstance(found, dict)
        else list(found)
        if isinstance(found, tuple)
        else [found]
    )
    sum(t.square().mean() for t in tensors).backward()
    grads = sum(p.grad.abs().sum() for p in model.parameters() if p.grad is not None)
    kind = type(found).__name__ if isinstance(found, (dict, tuple)) else ""
    calm = calm if isinstance(calm, dict) else {"": calm}
    return [
        first.float(),
        [[k, _some(v)] for k, v in calm.items()],
        kind,
        [_some(t) for t in tensors],
        grads.float(),
        x.grad.abs().sum().float(),
    ]


def _some(t: Any) -> list[Any]:
    flat = t.detach().float().reshape(-1)
    return [list(t.shape), flat[:: max(flat.numel() // 5, 1)]]


def _family(names: str, torch: Any) -> Any:
    m, found = module(torch, "models"), {}
    for name, _, size in (word.partition(":") for word in names.split()):
        # torchvision computes the widths of RegNet by tensors, which the meta device would leave without values.
        reads = torch.__name__ == "torch" and name.startswith("regnet")
        with torch.device("cpu" if reads else "meta"):
            found[name] = described(getattr(m, name)(num_classes=7))
        if size:
            torch.manual_seed(0)
            found[name].append(ran(torch, getattr(m, name)(num_classes=7), 2, 3, int(size), int(size)))
    return found


MODELS.update({name: partial(_family, names) for name, names in BUILDERS.items()})


@MODELS
def segmentation(torch: Any) -> Any:
    m, found = module(torch, "models.segmentation"), {}
    for name in (
        "fcn_resnet50",
        "fcn_resnet101",
        "deeplabv3_resnet50",
        "deeplabv3_resnet101",
        "deeplabv3_mobilenet_v3_large",
        "lraspp_mobilenet_v3_large",
    ):
        aux = {} if name.startswith("lraspp") else {"aux_loss": True}
        with torch.device("meta"):
            found[name] = [
                described(getattr(m, name)(weights_backbone=None)),
                described(getattr(m, name)(weights_backbone=None, num_classes=3, **aux)),
            ]
        if "mobilenet" in name:
            torch.manual_seed(0)
            model = getattr(m, name)(weights_backbone=None, num_classes=3, **aux)
            found[name].append(ran(torch, model, 2, 3, 64, 48))
    heads = [
        module(torch, "models.segmentation.deeplabv3").DeepLabHead(8, 3, (1, 2)),
        module(torch, "models.segmentation.fcn").FCNHead(8, 3),
    ]
    return found, [[*described(head), ran(torch, head, 2, 8, 9, 7)] for head in heads]


@MODELS
def parts_of_large_models(torch: Any) -> Any:
    m, found = module(torch, "models"), []
    for name in ("alexnet", "vgg11", "vgg11_bn"):
        with torch.device("meta"):
            features = getattr(m, name)().features[:8]
        features = features.to_empty(device="cpu")
        for v in features.state_dict().values():
            if v.is_floating_point():
                torch.nn.init.uniform_(v, 0.1, 0.2)
            else:
                v.zero_()
        found.append(ran(torch, features, 2, 3, 64, 64))
    return found


@MODELS
def small_models(torch: Any) -> Any:
    m = module(torch, "models")
    vit = partial(m.VisionTransformer, 32, 8, 2, 4, 16, 32, num_classes=5)
    resnet = partial(m.ResNet, num_classes=5)
    block = module(torch, "models.resnet")
    made = [
        vit(),
        vit(representation_size=6),
        vit(dropout=0.1, attention_dropout=0.1),
        resnet(block.BasicBlock, [1, 1, 1, 1], zero_init_residual=True),
        resnet(
            block.Bottleneck,
            [1, 1, 1, 1],
            groups=2,
            width_per_group=8,
            norm_layer=partial(torch.nn.GroupNorm, 2),
        ),
        resnet(block.Bottleneck, [1, 2, 1, 2], replace_stride_with_dilation=[False, True, True]),
        m.DenseNet(8, (2, 3), 16, drop_rate=0.2, num_classes=5),
        m.DenseNet(8, (2, 3), 16, num_classes=5, memory_efficient=True),
        m.MobileNetV2(5, 0.35, [[1, 16, 1, 1], [6, 24, 2, 2]]),
        m.mobilenet_v3_large(reduced_tail=True, dilated=True, width_mult=0.25, num_classes=5),
    ]
    for model in made:
        if hasattr(model, "heads"):  # whose first values are zeros
            torch.nn.init.normal_(model.heads.head.weight)
    swin = partial(m.SwinTransformer, [2, 2], 8, [2, 2], [2, 4], [4, 3], num_classes=5)
    made += [swin(), swin(dropout=0.1, attention_dropout=0.1, stochastic_depth_prob=0.5)]
    return [[*described(model), ran(torch, model, 4, 3, 32, 34)] for model in made[10:]] + [
        [*described(model), ran(torch, model, 4, 3, 32, 32)] for model in made[:10]
    ]


def _names(torch: Any) -> dict[str, Any]:
    """What the expressions below mention."""
    models, ops = module(torch, "models"), module(torch, "ops")
    b, c = torch.rand(12, 4) * 10, torch.rand(5, 4) * 10
    b[:, 2:] += b[:, :2]
    c[:, 2:] += c[:, :2]
    masks = torch.zeros(2, 5, 6)
    masks[0, 1:3, 2:5] = 1
    masks[1, 4, 0] = 1
    return {
        "torch": torch,
        "nn": torch.nn,
        "m": models,
        "o": ops,
        "b": b,
        "c": c,
        "masks": masks,
        "targets": (torch.rand(6, 3) > 0.5).float(),
        "logits": torch.randn(6, 3),
        "x": torch.randn(2, 3, 12, 10),
        "y": torch.randn(2, 8, 4, 4),
        "fe": module(torch, "models.feature_extraction"),
        "u": module(torch, "models._utils"),
        "s": module(torch, "models.segmentation"),
        "told": told,
        "run": lambda f, *shape: [repr(f), described(f)[:2], f(torch.randn(*shape)).detach()],
    }


def _answers(torch: Any, texts: str, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """Each expression's result, from the same seed; `more`: what else the expressions mention."""
    known, found = {**_names(torch), **(more or {})}, {}
    for text in split(texts):
        torch.manual_seed(11)
        found[text] = attempt(lambda text=text: told(eval(text, known)))  # noqa: S307 - our own texts
    return found


@MODELS
def boxes(torch: Any) -> Any:
    return _answers(
        torch,
        """
        [f(b, c) for f in (o.box_iou, o.generalized_box_iou, o.distance_box_iou, o.complete_box_iou)]
        [o.box_iou(b.to(d), c.to(d)).dtype for d in (torch.half, torch.double, torch.int32, torch.int64)]
        [o.box_area(b), o.box_area(b.int()), o.box_area(b.half()), o.box_area(b.to(torch.uint8))]
        o.remove_small_boxes(b, 3.0), o.clip_boxes_to_image(b, (9, 8)), o.clip_boxes_to_image(b[None], (9, 8))
        [o.box_convert(b[:2], i, k) for i in ("xyxy", "xywh", "cxcywh") for k in ("xyxy", "xywh", "cxcywh")]
        o.box_convert(b, "x", "xyxy")
        o.masks_to_boxes(masks), o.masks_to_boxes(masks.bool()), o.masks_to_boxes(masks[:0])
        [o.box_iou(b[:0], c).shape, o.box_area(b[:0])]
    """,
    )


@MODELS
def losses(torch: Any) -> Any:
    return _answers(
        torch,
        """
        [o.sigmoid_focal_loss(logits, targets, reduction=r) for r in ("none", "mean", "sum")]
        o.sigmoid_focal_loss(logits, targets, alpha=-1, gamma=3.0)
        o.sigmoid_focal_loss(logits, targets, alpha=3.0)
        o.sigmoid_focal_loss(logits, targets, reduction="no")
        [o.generalized_box_iou_loss(b[:5], c, r) for r in ("none", "mean", "sum")]
        [o.distance_box_iou_loss(b[:5], c, r) for r in ("none", "mean", "sum")]
        [o.complete_box_iou_loss(b[:5], c, r) for r in ("none", "mean", "sum")]
        [f(b[:0], c[:0], "mean") for f in (o.generalized_box_iou_loss, o.distance_box_iou_loss)]
        o.generalized_box_iou_loss(b[:5], c, "no")
    """,
    )


@MODELS
def layers(torch: Any) -> Any:
    return _answers(
        torch,
        """
        run(o.Conv2dNormActivation(3, 8, stride=2), 2, 3, 8, 8)
        run(o.Conv2dNormActivation(3, 4, (1, 3), dilation=2, norm_layer=None, activation_layer=nn.Tanh, inplace=None), 2, 3, 8, 8)
        run(o.Conv3dNormActivation(2, 3), 2, 2, 4, 4, 4)
        run(o.SqueezeExcitation(8, 2), 2, 8, 4, 4)
        run(o.SqueezeExcitation(8, 2, nn.SiLU, nn.Hardsigmoid), 2, 8, 4, 4)
        run(o.MLP(4, [8, 3], nn.LayerNorm, inplace=False, dropout=0.1), 2, 4)
        run(o.MLP(4, [8, 3]), 2, 4)
        run(o.FrozenBatchNorm2d(3), 1, 3, 2, 2)
        run(o.Permute([1, 0, 2]), 2, 3, 4)
        run(o.StochasticDepth(0.4, "row"), 6, 2)
        run(o.StochasticDepth(0.4, "batch"), 6, 2)
        run(o.StochasticDepth(0.4, "row").eval(), 6, 2)
        run(o.DropBlock2d(0.3, 3), 1, 2, 8, 8)
        run(o.DropBlock3d(0.3, 3, inplace=True), 1, 1, 4, 4, 4)
        run(o.DropBlock2d(0.3, 3).eval(), 1, 2, 8, 8)
        o.stochastic_depth(b, 2.0, "row")
        o.stochastic_depth(b, 0.2, "column")
        o.drop_block2d(x[0], 0.2, 3)
        o.drop_block2d(x, -0.2, 3)
        o.FeaturePyramidNetwork([3, 8], 5)({"a": x, "b": y})
        described(o.FeaturePyramidNetwork([3, 8], 5, norm_layer=nn.BatchNorm2d))
        o.FeaturePyramidNetwork([3, 0], 5)
    """.replace("described(", "(lambda f: [list(f.state_dict()), repr(f)])("),
    )


@MODELS
def regions(torch: Any) -> Any:
    return _answers(
        torch,
        """
        [o.roi_align(x, [b[:4], c[:3]], (3, 4), 0.5, s, a) for s in (-1, 1, 2) for a in (False, True)]
        o.roi_align(x, torch.tensor([[0, 1.0, 2.0, 9.0, 11.0], [1, 0.0, 3.0, 3.0, 4.0]]), 3)
        o.roi_align(x, [b[:0], c[:0]], (3, 4))
        o.roi_align(x.double(), [b[:2].double(), c[:1].double()], 2, 0.5, 2)
        o.RoIAlign((3, 4), 0.5, 2, aligned=True), o.RoIPool(3, 0.5)
        o.RoIAlign((3, 4), 0.5, 2, aligned=True)(x, [b[:4], c[:3]])
        o.roi_align(x, b, 3)
        o.roi_align(x, [b[:, :3], c], 3)
    """,
    )


@MODELS
def features(torch: Any) -> Any:
    return _answers(
        torch,
        """
        [len(n) for n in fe.get_graph_node_names(m.squeezenet1_1(num_classes=3))]
        fe.get_graph_node_names(m.squeezenet1_1(num_classes=3))[0][:25]
        [n for n in fe.get_graph_node_names(m.resnet18(num_classes=3))[1] if "layer2" in n or "." not in n]
        fe.create_feature_extractor(m.squeezenet1_1(), {"features.3": "a", "features.4.expand1x1": "b"})(torch.ones(1, 3, 40, 40))
        {k: v.shape for k, v in fe.create_feature_extractor(m.squeezenet1_1(), ["classifier.1", "features"])(torch.ones(1, 3, 40, 40)).items()}
        list(fe.create_feature_extractor(m.squeezenet1_1(), ["features.2"]).state_dict())
        fe.create_feature_extractor(m.squeezenet1_1(), ["nope"])
        fe.create_feature_extractor(m.squeezenet1_1())
        list(fe.create_feature_extractor(m.squeezenet1_1(), train_return_nodes=["features.0"], eval_return_nodes=["features.1"]).eval()(torch.ones(1, 3, 40, 40)))
        {k: v.shape for k, v in u.IntermediateLayerGetter(m.resnet18(), {"layer1": "p", "layer3": "q"})(torch.ones(1, 3, 32, 32)).items()}
        u.IntermediateLayerGetter(m.resnet18(), {"layer9": "p"})
    """,
    )


@MODELS
def weights(torch: Any) -> Any:
    return _answers(
        torch,
        """
        m.ResNet18_Weights.DEFAULT, m.ResNet18_Weights.IMAGENET1K_V1.url, list(m.ResNet50_Weights)
        [m.ResNet50_Weights.DEFAULT is m.ResNet50_Weights.IMAGENET1K_V2, m.ResNet50_Weights.DEFAULT.name]
        [w.transforms() for w in (m.ResNet50_Weights.IMAGENET1K_V1, m.ResNet50_Weights.IMAGENET1K_V2)]
        [w.transforms() for w in (m.EfficientNet_B3_Weights.DEFAULT, m.ViT_H_14_Weights.DEFAULT, m.AlexNet_Weights.DEFAULT)]
        m.VGG16_Weights.DEFAULT.transforms()(torch.arange(3 * 30 * 40).reshape(3, 30, 40).to(torch.uint8))
        [m.get_weight("ResNet50_Weights.IMAGENET1K_V1"), m.get_model_weights("vgg16").__name__, m.get_model_weights(m.alexnet).__name__]
        m.ResNet50_Weights.IMAGENET1K_V2.meta["num_params"]
        m.get_weight("ResNet50")
        m.get_weight("ResNet5000_Weights.DEFAULT")
        m.get_weight("ResNet50_Weights.NONE")
        m.get_model("squeezenet1_1", num_classes=2).classifier[1]
        m.get_model("resnet9000")
        m.get_model_builder("AlexNet").__name__
        m.list_models(include="resnet*")
        m.list_models(include=["vgg*", "alex*"], exclude="*_bn")
        m.list_models(m, include="vit*")
        m.resnet18(weights="nope")
        m.resnet18(weights=m.ResNet50_Weights.DEFAULT)
        m.resnet18(weights="DEFAULT", num_classes=5)
        [w.transforms() for w in (s.FCN_ResNet50_Weights.DEFAULT, s.LRASPP_MobileNet_V3_Large_Weights.DEFAULT)]
        s.DeepLabV3_ResNet101_Weights.COCO_WITH_VOC_LABELS_V1.url, s.FCN_ResNet101_Weights.DEFAULT.meta["num_params"]
        m.list_models(s), m.list_models(include="fcn*"), m.list_models(m, include="fcn*")
        s.fcn_resnet50(weights="DEFAULT", num_classes=3)
        s.fcn_resnet50(weights="DEFAULT", aux_loss=False)
        m.ResNet18_Weights.verify(None), m.ResNet18_Weights.verify("ResNet18_Weights.DEFAULT")
    """,
    )


@MODELS
def what_builders_refuse(torch: Any) -> Any:
    return _answers(
        torch,
        """
        m.SqueezeNet("2_0")
        m.MobileNetV2(inverted_residual_setting=[[1, 2]])
        m.ConvNeXt([])
        m.VisionTransformer(33, 8, 1, 2, 4, 4)
        m.VisionTransformer(32, 8, 1, 2, 4, 4)(torch.zeros(1, 3, 40, 32))
        m.resnet18(replace_stride_with_dilation=[True])
        m.resnet18(groups=2)
        m.ShuffleNetV2([1, 2], [1, 2, 3, 4, 5])
        m.ShuffleNetV2([1, 2, 3], [1, 2])
        m.MNASNet(0.0)
        m.resnet18(replace_stride_with_dilation=[True, False, False])
    """,
    )


@MODELS
def a_step_of_training(torch: Any) -> Any:
    model = module(torch, "models").resnet18(num_classes=10).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    x, y = torch.randn(4, 3, 32, 32, dtype=torch.float64), torch.arange(4)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().float())
    return losses, sum(v.double().abs().sum() for v in model.state_dict().values()).float()
