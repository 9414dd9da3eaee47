"""Fold and Unfold: between images and columns of sliding blocks. They are rows of nn/declared.tsv."""

from rushlight.nn.modules.function_module import declared

globals().update(declared(__name__))
