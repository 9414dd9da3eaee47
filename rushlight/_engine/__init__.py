"""The engine: everything below PyTorch's names. docs/design.md says where to begin reading."""
