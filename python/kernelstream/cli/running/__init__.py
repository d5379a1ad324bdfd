"""The commands ``learn`` and ``predict``: tables in, a model or predictions out."""
