"""Parts of CalibratedClassifier: targets, raw scores, folds, score maps and pairs."""
