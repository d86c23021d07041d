"""One map from the scores of several exclusive classes to their probabilities."""
