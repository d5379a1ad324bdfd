"""The commands, a file each: their options, and what they hand them to."""
