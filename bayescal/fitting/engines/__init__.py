"""Engines: from scores and labels to parameters, one folder each."""
