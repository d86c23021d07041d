"""Many topics at once: a hierarchical model of their class densities."""
