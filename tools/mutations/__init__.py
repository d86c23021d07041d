"""Mutation testing: put random faults into the package and count those that the tests find."""
