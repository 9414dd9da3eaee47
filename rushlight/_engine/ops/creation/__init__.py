"""Rows that make tensors: filled, copied, counted, drawn at random."""
