"""How rows of each kind are run."""
