"""Combinations that learn across tasks (LABEL; Bennett's dissertation, chapter 8)."""
