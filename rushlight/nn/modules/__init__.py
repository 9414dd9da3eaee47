"""The modules of torch.nn, by file. A file is loaded when one of its names is first mentioned."""
from rushlight.base.lazy import lazy_names

_FILES = {
    "module": "Module",
    "container": "Container ModuleDict ModuleList Sequential",
    "parameters": "ParameterDict ParameterList",
    "linear": "Bilinear Identity LazyLinear Linear",
    "conv": """Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d
        LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d""",
    "activation": """CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU
        LogSigmoid LogSoftmax Mish PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d
        Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold""",
    "multihead": "MultiheadAttention",
    "transformer": """Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
        TransformerEncoderLayer""",
    "rnn": "GRU LSTM RNN RNNBase",
    "rnn_cells": "GRUCell LSTMCell RNNCell RNNCellBase",
    "pooling": """AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
        AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d
        FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d
        MaxUnpool2d MaxUnpool3d""",
    "padding": """CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d
        ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d
        ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d""",
    "batchnorm": """BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d
        LazyBatchNorm3d SyncBatchNorm""",
    "instancenorm": """InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d
        LazyInstanceNorm2d LazyInstanceNorm3d""",
    "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "sparse": "Embedding EmbeddingBag",
    "loss": """BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss
        GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss
        MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d
        PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss
        TripletMarginWithDistanceLoss""",
    "linear_loss": "LinearCrossEntropyLoss LinearCrossEntropyOptions",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "distance": "CosineSimilarity PairwiseDistance",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "channelshuffle": "ChannelShuffle",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}

# Public name -> the file that defines it.
HOMES = {name: file for file, names in _FILES.items() for name in names.split()}
__getattr__, __dir__ = lazy_names(globals(), HOMES, (*_FILES, "function_module", "lazy", "utils"))
__all__ = sorted(HOMES)
