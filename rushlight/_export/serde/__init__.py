"""torch._export.serde: descriptions of exported programs for files."""
