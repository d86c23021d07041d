"""One combiner for many tasks, specialised to each: Bennett's LABEL, and partial pooling.

`pooled_combiner` is the estimator, `metaclassifier` has the documents of many tasks and the base
class, and `tree` and `weights` are the two metaclassifiers that are specialised to tasks.
"""

from bayescal.combining.tasks.pooled_combiner import PooledCombiner as PooledCombiner
