"""The experiments of `bayescal reproduce`, one file each, found by the command."""
