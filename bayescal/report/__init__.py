"""Reports: one self-contained HTML file of fitted calibrators, without network or server."""

from bayescal.report.document import write_report
from bayescal.report.evidence import write_validation

__all__ = ["write_report", "write_validation"]
