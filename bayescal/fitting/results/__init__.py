"""Results: the tree of a fit (build, check, save, load) and the curves that follow from it."""
