"""The experiment of learning across tasks (LABEL, dissertation, chapter 8).

`corpora` are documents with many topics, each a task; `inputs` what base classifiers and indicators
say of them; `methods` combine these, one a task or all together; `protocols` say which tasks may
learn from which; `table` is made of what they decide.
"""
