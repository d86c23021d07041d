"""From scores and labels to posterior curves."""
