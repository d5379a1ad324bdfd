"""Learning targets from rows: regression, classification, experts, and columns on one scale."""
