"""A part, a family and a kind of calibrator that the package does not have, each in one file."""
