"""Combinations with reliability indicators (STRIVE; Bennett's dissertation, chapter 7)."""
