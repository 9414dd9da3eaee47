"""The file of an exported program, which is PyTorch's: an archive of a description, tensors and texts.

`saving.py` is the archive; `writing.py` makes the description (JSON), `reading.py` a program of it;
`arguments.py` spells arguments, sizes and structures, `metadata.py` what else is known of nodes.
"""
