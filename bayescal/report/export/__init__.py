"""Calibrators as files that work without bayescal."""

from bayescal.report.export.writing import export as export
