"""compile() where tensors lie on a device beside the CPU: graphs.py, captured graphs of CUDA devices.

What is here knows of guards, of the watch over Python and of the node of a later backward pass; nothing of
how the CPU's calls are recorded, matched or planned.
"""
