"""A library of calibration problems: real scores of many classifiers, made from public data.

python -m studies.problems --data DIR --to DIR makes it, `library.problems` reads it.
"""
