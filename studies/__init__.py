"""Statistical validation: studies that measure what the package claims, and write docs/validation.

Each is a module that runs by itself, python -m studies.<name>; python -m studies runs all.
"""
