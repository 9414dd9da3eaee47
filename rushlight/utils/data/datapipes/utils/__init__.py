"""torch.utils.data.datapipes.utils: what pipes of files, and functions on columns, are made of."""
