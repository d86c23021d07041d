"""Many topics at once: each topic's class densities around those of a population."""
