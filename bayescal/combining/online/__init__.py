"""Online combiners: experts' weights are updated after every label.

`online_combiner` is the estimator, `rules` has the updates, `reading` checks arguments.
"""
