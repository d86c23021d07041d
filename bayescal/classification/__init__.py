"""What CalibratedClassifier is made of: targets, raw scores, folds, calibrators, probabilities."""
