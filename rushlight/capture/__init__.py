"""See docs/design.md for what this room holds."""
