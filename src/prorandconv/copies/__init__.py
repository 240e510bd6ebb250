"""Augmented copies of a folder of pictures, and of their masks: made once, and kept as files."""
