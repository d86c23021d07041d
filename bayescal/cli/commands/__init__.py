"""The commands, one module each, which `cli.app` finds by their `app`."""
