"""Expressions of SQL, one for each curve."""

import re

from bayescal.report.export.class_map import read_text
from bayescal.report.export.knots import Knots
from bayescal.report.export.writing import Content, Format

HEAD = """\
Calibrated probabilities of {column}, written by bayescal: put this list, or one expression of it,
between SELECT and FROM. It needs the function EXP, and columns of double precision.
{beyond} NULL gives NULL.
"""
BEYOND = {
    False: "Beyond the knots the answer is that of the nearest one.",
    True: "Scores are probabilities: what is not from 0 to 1 gives NULL.",
}
QUOTED = "In MySQL double quotes need SET sql_mode = 'ANSI_QUOTES'.\n"
# Names that every dialect folds to the same column. Others need double quotes, which MySQL by
# default takes for text.
PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
# Reserved in SQL:2016, SQLite, PostgreSQL, MySQL, SQL Server, Oracle, DuckDB or Snowflake.
RESERVED = frozenset(read_text("reserved_words.txt").split())


def render(content: Content) -> bytes:
    """Return named expressions, as a list for SELECT, and the facts in comments."""
    column = content.column
    plain = PLAIN.fullmatch(column) and column not in RESERVED
    name = column if plain else '"{}"'.format(column.replace('"', '""'))
    bounded = content.table.bounded
    text = HEAD + ("" if plain else QUOTED)
    head = text.format(column=ascii(column), beyond=BEYOND[bounded]).splitlines()
    comments = "".join(f"-- {line}\n" for line in (*head, *content.fact_lines))
    expressions = ",\n".join(
        f"1E0 / (1E0 + EXP(-({_case(name, knots, bounded)}))) AS {curve}"
        for curve, knots in content.table.curves.items()
    )
    return f"{comments}{expressions}\n".encode()


def _case(column: str, knots: Knots, bounded: bool) -> str:
    """Return log-odds as one CASE, which is NULL where no condition holds."""
    score, log_odds, slope = (
        [_number(each) for each in row] for row in (knots.score, knots.log_odds, knots.slope)
    )
    cases = [f"WHEN {column} < {score[0]} THEN {'NULL' if bounded else log_odds[0]}"]
    cases += [
        f"WHEN {column} < {score[k + 1]} THEN {log_odds[k]} + {slope[k]} * ({column} - {score[k]})"
        for k in range(len(score) - 1)
    ]
    last = "=" if bounded else ">="
    cases.append(f"WHEN {column} {last} {score[-1]} THEN {log_odds[-1]}")
    return "CASE\n" + "\n".join(cases) + "\nEND"


def _number(value: float) -> str:
    """Return a literal of double precision: in standard SQL it has an exponent."""
    text = repr(float(value)).replace("e", "E")
    text = text if "E" in text else f"{text}E0"
    # A minus sign after another operator might begin a comment.
    return f"({text})" if value < 0.0 else text


FORMAT = Format("sql", "expressions of one column, for SELECT", ".sql", render)
