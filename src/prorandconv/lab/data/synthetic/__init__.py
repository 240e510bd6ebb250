"""Data that is made, not downloaded."""
