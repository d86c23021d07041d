"""Published experiments, repeated: `python -m studies.papers NAME`, one folder a publication."""
