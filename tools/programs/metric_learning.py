"""pytorch-metric-learning: losses, miners, samplers, retrieval accuracy."""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers, regularizers, samplers

torch.manual_seed(0)
x, y = torch.randn(24, 8), torch.arange(24) % 4
for kind, args in (
    ("ContrastiveLoss", {}),
    ("TripletMarginLoss", {}),
    ("NTXentLoss", {}),
    ("SupConLoss", {}),
    ("MultiSimilarityLoss", {}),
    ("CircleLoss", {}),
    ("LiftedStructureLoss", {}),
    ("NPairsLoss", {}),
    ("AngularLoss", {}),
    ("FastAPLoss", {}),
    ("GeneralizedLiftedStructureLoss", {}),
    ("MarginLoss", {}),
    ("SignalToNoiseRatioContrastiveLoss", {}),
    ("TupletMarginLoss", {}),
    ("IntraPairVarianceLoss", {}),
    ("ArcFaceLoss", (4, 8)),
    ("CosFaceLoss", (4, 8)),
    ("ProxyAnchorLoss", (4, 8)),
    ("ProxyNCALoss", (4, 8)),
    ("SoftTripleLoss", (4, 8)),
    ("NormalizedSoftmaxLoss", (4, 8)),
    ("SphereFaceLoss", (4, 8)),
):
    emb = x.clone().requires_grad_()
    make = getattr(losses, kind)
    loss = (make(**args) if isinstance(args, dict) else make(*args))(emb, y)
    loss.backward()
    print(kind, f"{loss.item():.5f} {emb.grad.abs().sum().item():.5f}")
for miner in (
    miners.MultiSimilarityMiner(),
    miners.TripletMarginMiner(),
    miners.BatchHardMiner(),
    miners.PairMarginMiner(),
    miners.DistanceWeightedMiner(),
):
    print(type(miner).__name__, [len(t) for t in miner(x, y)])
loss = losses.TripletMarginLoss(
    distance=distances.CosineSimilarity(),
    reducer=reducers.ThresholdReducer(low=0),
    embedding_regularizer=regularizers.LpRegularizer(),
)
print(f"{loss(x, y, miners.BatchEasyHardMiner()(x, y)).item():.5f}")
memory = losses.CrossBatchMemory(losses.ContrastiveLoss(), 8, memory_size=32)
print([f"{memory(x[i * 8 : i * 8 + 8], y[i * 8 : i * 8 + 8]).item():.5f}" for i in range(3)])
print(len(list(samplers.MPerClassSampler(y, 2, 8, 16))))
