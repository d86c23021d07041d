"""Reports: one self-contained HTML file of fitted calibrators, without network or server."""

from typing import Any

from bayescal.report.document import write_report

__all__ = ["write_report", "write_validation"]


def __getattr__(name: str) -> Any:
    if name == "write_validation":  # likelihood ratios are imported where they are used
        from bayescal.report.evidence import write_validation

        return write_validation
    raise AttributeError(f"module 'bayescal.report' has no attribute {name!r}")
