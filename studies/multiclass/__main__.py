"""Run the study: python -m studies.multiclass --data FOLDER [--quick]."""

from studies.command import main

main("multiclass.study")
