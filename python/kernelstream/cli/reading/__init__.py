"""Tables: which there are, what their columns hold, their rows in batches."""
