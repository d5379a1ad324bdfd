"""The commands, one file each: options, and the function that they call."""
