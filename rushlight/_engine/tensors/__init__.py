"""What a tensor is: its parts, by what they answer."""
