"""Tools that make, measure and check the project; none is installed."""
