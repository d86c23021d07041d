"""One combiner for many tasks, specialised to each: Bennett's LABEL, and partial pooling.

`pooled_combiner` is the estimator, `metaclassifier` has documents of many tasks, the base class and
task weights, and `tree` a decision tree with task-specific leaves.
"""

from bayescal.combining.tasks.pooled_combiner import PooledCombiner as PooledCombiner
