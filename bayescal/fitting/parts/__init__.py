"""The parts that a model of the log-odds is made of, one file each."""
