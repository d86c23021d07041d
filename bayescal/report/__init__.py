"""Reports: one self-contained HTML file of fitted calibrators, without network or server."""

from bayescal.report.document import write_report

__all__ = ["write_report"]
