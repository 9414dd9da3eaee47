"""Programs at sizes that were not recorded, from programs of the same calls at some that were."""
