"""The commands, one file each: `cli.app` finds them here by the `app` that each defines."""
