"""How PyTorch's names are found: names that live in another module here, names that are there only to be imported, completion."""
