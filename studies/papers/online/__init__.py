"""Online combiners of classifiers (Bennett's dissertation, chapter 9)."""
