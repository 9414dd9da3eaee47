"""torch._subclasses: what packages ask of fake tensors; there are none, but device="meta" has no memory."""
