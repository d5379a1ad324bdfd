"""What all estimators share: learning and predicting, validation, progress, model files."""
