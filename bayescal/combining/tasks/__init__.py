"""One combiner for many tasks, specialised to each: Bennett's LABEL, and partial pooling.

`pooled_combiner` is the estimator, `metaclassifier` has the documents of many tasks, the base class
and weights that are specialised to tasks, and `tree` a decision tree whose leaves are.
"""

from bayescal.combining.tasks.pooled_combiner import PooledCombiner as PooledCombiner
