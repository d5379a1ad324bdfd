"""What a run writes: predictions, metrics and a picture, each whole or not at all."""
