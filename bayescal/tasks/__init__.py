"""One combiner for many tasks, specialised to each: Bennett's LABEL, and partial pooling.

`task_names` reads which task each document is of, `known_tasks` normalises inputs within each, and
`task_data` is what a metaclassifier of `metaclassifiers/` is fitted to. Of a tree `leaf_counts` are
what the leaves hold of each task, and `leaf_population` is what tasks have in common at a leaf.
"""

from bayescal.tasks.pooled_combiner import PooledCombiner as PooledCombiner
