"""The fitted problems of any calibrator."""
