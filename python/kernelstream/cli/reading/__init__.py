"""Tables: their files, the types of their columns, their rows in batches."""
