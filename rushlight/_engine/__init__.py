"""The engine: everything below PyTorch's names.

docs/design.md is its map; docs/walks.md follows three calls through it. Nothing here imports the public
storey.
"""
