"""Bennett's experiment on Reuters-21578, and what few positives do to it."""
