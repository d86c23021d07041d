"""Engines: from scores and labels to parameters. One room each; all return the same tree."""
