"""PixelShuffle and PixelUnshuffle: between channels and space. They are rows of nn/declared.tsv."""

from rushlight.nn.modules.function_module import declared

globals().update(declared(__name__))
