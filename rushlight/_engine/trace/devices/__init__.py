"""compile() where tensors lie on a device beside the CPU: captured graphs of CUDA devices.

Begin with graphs.py. What is here knows of guards, of the watch over Python and of the node of a later
backward pass; nothing of how the CPU's calls are recorded, matched or planned.
"""
