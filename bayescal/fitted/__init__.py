"""What a fit says of each of its problems, whichever calibrator made it."""
