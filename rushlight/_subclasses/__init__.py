"""torch._subclasses: what packages ask of fake tensors, of which there are none (device="meta" has no memory)."""
