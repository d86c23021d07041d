"""Export formats, one module each."""
