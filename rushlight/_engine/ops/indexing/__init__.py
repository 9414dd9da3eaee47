"""Rows that read and write at positions given by data: gather, scatter, masks, look-up tables."""
