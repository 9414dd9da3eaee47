"""compile(): calls recorded, and replayed as programs."""
