"""Bennett, *Using asymmetric distributions to improve text classifier probability estimates*."""
