"""Several classifiers' scores of a document, and facts about it, as one score: what combines."""
