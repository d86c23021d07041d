"""What commands say of reviews, and how they read and write files of many kinds."""

import io
from functools import partial
from pathlib import Path

import pandas as pd

from bayescal.cli import columns, files
from tests.same_numbers.shell_fits import MLE
from tests.shell_answers import said, samples

PLAN = "--labels plan.csv"
COMMANDS = {
    "sample": "sample scores.csv --n 20 --out plan1.csv",
    "sample, more": f"sample scores.csv --n 12 {PLAN} --at-score 0.3 --seed 4 --out plan2.csv",
    "sample, lower": "sample lower.csv --n 15 --at-score 0.3 --lower-is-positive --for precision"
    " --out plan1.csv",
    "sample, prevalence": "sample scores.csv --n 9 --for prevalence --hidden none --out plan1.csv",
    "sample, calibration": "sample scores.csv --n 9 --for calibration --out plan1.csv -q",
    "sample, control": "sample topics.csv --n 2 --for control --group-column topic --out plan1.csv",
    "recall": f"recall scores.csv {PLAN} --at-score 0.3 --report review.html",
    "recall, read": "recall scores.csv --labels read.csv --at-score 0.3 --report review.html",
    "recall, error": f"recall scores.csv {PLAN} --at-score 0.3 --reviewer-error 0.05 0.01"
    " --level 0.8 --seed 2 --report review.html",
    "recall, simultaneous": f"recall scores.csv {PLAN} --at-score 0.3 --simultaneous --in-sample"
    " --hidden none --report review.html",
    "recall, bounds": "recall scores.csv --labels part.csv --at-score 0.3 --missing-bounds",
    "recall, missing": "recall scores.csv --labels part.csv --at-score 0.3",
    "recall, lower": "recall lower.csv --labels read.csv --at-score -0.3 --lower-is-positive"
    " --hidden learned",
    "stop": "stop scores.csv --labels read.csv",
    "stop, target": "stop scores.csv --labels read.csv --rule target --recall 0.6 --assurance 0.7",
    "stop, quant": "stop scores.csv --labels read.csv --rule quant --looks 3",
    "stop, control": "stop scores.csv --labels read.csv --control plan.csv --rule control",
    "stop, elusion": "stop scores.csv --labels read.csv --rule elusion --recall 0.5 -q",
    "stop, hypergeometric": "stop scores.csv --labels read.csv --rule hypergeometric --seed 3",
    "stop, lower": "stop lower.csv --labels read.csv --lower-is-positive --hidden none",
    "elusion": "elusion --documents 2800 --sampled 60 --positives 2 --found 24",
    "elusion, sequential": "elusion --documents 2800 --sampled 60 --positives 0 --found 24"
    " --sequential --level 0.8",
    "elusion, size": "elusion --documents 2800 --found 240 --recall 0.8",
    "elusion, expected": "elusion --documents 2800 --found 240 --recall 0.75 --expected 12"
    " --assurance 0.8",
}
WRONG = (
    "sample scores.csv --n 0 --out a.csv", "sample scores.csv --n 5 --seed -1 --out a.csv",
    "sample scores.csv --n 5 --out a.txt", "sample scores.csv --n 5 --out scores.csv",
    f"sample scores.csv --n 5 {PLAN} --out plan.csv", "sample scores.csv --n 99 --out a.csv",
    "sample scores.csv --n 5 --labels none.csv --out a.csv",
    "sample scores.csv --n 5 --labels twice.csv --out a.csv",
    "sample scores.csv --n 5 --labels far.csv --out a.csv",
    "sample scores.csv --n 5 --labels below.csv --out a.csv",
    "sample scores.csv --n 5 --labels half.csv --out a.csv",
    "sample scores.csv --n 5 --labels maybe.csv --out a.csv",
    "sample scores.csv --n 5 --labels read.csv --labels other.csv --out a.csv",
    "sample lower.csv --n 5 --labels plan.csv --out a.csv",
    "recall scores.csv --at-score 0", f"recall scores.csv {PLAN}",
    f"recall scores.csv {PLAN} --at-score 0 --seed -1",
    f"recall scores.csv {PLAN} --at-score 0 --report a.txt",
    f"recall scores.csv {PLAN} --at-score 0 --level 1",
    f"recall scores.csv {PLAN} --at-score 0 --reviewer-error 0.6 0.5", "stop scores.csv",
    "stop scores.csv --labels read.csv --looks 0", "stop scores.csv --labels read.csv --seed -1",
    "stop scores.csv --labels read.csv --recall 1", "stop scores.csv --control read.csv",
    "stop scores.csv --labels read.csv --rule control",
    "elusion --documents 20 --found 2", "elusion --documents 20 --found 2 --sampled 5",
    "elusion --documents 20 --found 2 --sampled 5 --positives 6",
    "elusion --documents 20 --found 2 --sampled 5 --positives 1 --expected 2",
    "elusion --documents 20 --found 2 --sampled 5 --recall 0.8",
    "elusion --documents 20 --found 2 --positives 5 --recall 0.8",
    "elusion --documents 20 --found 2 --recall 1",
)  # fmt: skip


def _reviews():
    """Return files of labels, most of them wrong."""
    plan = samples()["plan.csv"].splitlines()
    blank = [line.replace(",0,1,1,", ",,1,1,", 1) for line in plan[-4:]]
    return {
        "part.csv": "\n".join([*plan[:-4], *blank]) + "\n",
        "twice.csv": "document,label\n1,yes\n2,no\n1,No\n",
        "far.csv": "document,label\n61,1\n62,0\n",
        "below.csv": "document,label\n0,1\n-1,0\n",
        "half.csv": "document,label\n1,1\n2.5,0\n",
        "maybe.csv": "document,label\n1, TRUE \n2,maybe\n",
        "other.csv": "document,label\n1,no\n0,yes\n",
    }


# Files to read: by their name, contents and the options.
HEAD = "score,label\n"
ROWS = [(-1.5, 0), (-0.25, 0), (0.5, 1), (0.25, 0), (1.75, 1), (1.0, 1)]
PLAIN = HEAD + "".join(f"{score},{label}\n" for score, label in ROWS)
READ = {
    "semicolons.csv": PLAIN.replace(",", ";").replace(".", ","),
    "tabs.tsv": PLAIN.replace(",", "\t"),
    "bars.csv": PLAIN.replace(",", "|"),
    "named.csv": "sep=;\n" + PLAIN.replace(",", ";"),
    "utf16.csv": PLAIN.encode("utf-16"),
    "utf16le.csv": PLAIN.encode("utf-16-le"),
    "utf16be.csv": PLAIN.encode("utf-16-be"),
    "marked.csv": PLAIN.encode("utf-8-sig"),
    "latin.csv": PLAIN.replace("label", "label,note").replace("\n0", "\n0").replace(
        ",0\n", ",0,\xe9\n").replace(",1\n", ",1,\xfc\n").encode("latin-1"),
    "minus.csv": PLAIN.replace("-", "\N{MINUS SIGN}"),
    "percent.csv": HEAD + "10 %,0\n20%,0\n75 %,1\n30%,0\n95 %,1\n80%,1\n",
    "some_percent.csv": HEAD + "10 %,0\n20,0\n75 %,1\n",
    "comma.csv": HEAD + '"1,5",0\n"2,25",0\n3,1\n"4,125",1\n',
    "thousands.csv": HEAD + '"1,500",0\n"2,250",1\n',
    "mixed.csv": HEAD + '"1,5",0\n2.5,1\n',
    "yes.csv": PLAIN.replace(",0", ",no").replace(",1", ",Yes"),
    "floats.csv": PLAIN.replace(",0\n", ",0.0\n").replace(",1\n", ",1.0\n"),
    "blank.csv": PLAIN + "2.5,\n-3.5, \n",
    "zeros.csv": PLAIN.replace(",0\n", ",00\n"),
    "empty.csv": "",
    "header.csv": HEAD,
    "no_header.csv": PLAIN.removeprefix(HEAD),
    "long.csv": PLAIN + "1.0,1,3\n",
    "quote.csv": PLAIN + '"1.0,1\n',
    "twice.csv": "score,score,label\n1,2,0\n",
    "one.csv": "score label\n1 0\n",
    "underscore.csv": HEAD + "1_000,0\n2,1\n",
    "words.csv": HEAD + "low,0\n2,1\n",
    "gap.csv": HEAD + ",0\n2,1\n",
    "infinite.csv": HEAD + "inf,0\n2,1\n",
    "zip.csv": b"PK\x03\x04rest",
    "broken.csv.gz": b"\x1f\x8b\x08broken",
    "broken.parquet": b"PAR1broken",
    "broken.xlsx": b"PK\x03\x04broken",
    "bytes.csv": PLAIN.encode() + b"\xe4,0\n",
    "columns.csv": "negative,positive,label\n0.9,0.1,0\n0.2,0.8,1\n",
    "nearly.csv": "negative,positive,label\n0.9,0.102,0\n0.2,0.8,1\n",
    "added.csv": PLAIN.replace("label", "label,lower").replace("\n", ",1\n", 1),
    "scores.txt": PLAIN,
}  # fmt: skip
FORMULAS = pd.DataFrame(
    {
        "=name": ["=1+1", "+4", "-", "@b", "-1.5e3 %", "\tx", "\uff1dy", "a=b", "'=kept"],
        "score": [1.0, -2.0, 0.5, 3.0, 1.0, 0.25, 2.0, 4.0, 0.125],
        "text": ["a\rb", "line\nbreak", 'say "so"', "", "x,y", "\x1b[1m", " ", "-1,5", "+-2"],
    }
)


def written():
    """Return what is written of cells that look like formulas, and what is read of that."""
    stream = io.StringIO()
    files.write_frame(FORMULAS, stream)
    files.write_frame(FORMULAS.drop(columns="text"), other := io.StringIO())
    return [stream.getvalue(), other.getvalue()]


def read_again():
    """Return columns of tables read from what was written."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        out = {}
        for suffix in ("csv", "parquet"):
            path = Path(folder) / f"table.{suffix}"
            files.write_frame(FORMULAS, path)
            out[suffix] = files.read_frame(path).fillna("-").to_dict("list")
        path = Path(folder) / "table.xlsx"
        labels, names = [0, 1, 0, 1, 1, None, 0, 1, 1], ["NA", "", "007", *"abcdef"]
        FORMULAS[["score"]].assign(label=labels, topic=names).to_excel(path, index=False)
        out["xlsx"] = files.read_frame(path).astype(object).fillna("-").to_dict("list")
    return out


def spellings():
    """Return how labels are understood that are spelled otherwise than those fitted."""
    pairs = [([0, 1], ["no", "YES"]), (["neg", "pos"], [0, 1]), (["n", "y"], ["1.0", "-"]),
             (["a", "b"], [" A", "b "]), (["a", "b"], ["a", "c"]), ([1, 0], ["true", "F"]),
             (["x", "X "], ["x", "X "]), (["ham", "yes"], ["no", "yes"])]  # fmt: skip
    return [
        columns.spelled(pd.Series(values).to_numpy(), pd.Series(known).to_numpy())
        for known, values in pairs
    ]


CASES = {
    **{name: partial(said, command, files=_reviews()) for name, command in COMMANDS.items()},
    "wrong calls": partial(said, *WRONG, files=_reviews()),
    "files": lambda: said(*(f"fit {name} {MLE}" for name in READ), files=READ),
    "more files": lambda: said(
        f"fit zipped.csv.gz {MLE}", f"fit semicolons.csv {MLE}", "fit none.parquet",
        "predict none/a.nc scores.csv", f"fit scores.csv {MLE} --positive 0 --level 0.5",
        f"fit added.csv {MLE} --out here", files=READ),
    "formulas": written,
    "read again": read_again,
    "spellings": spellings,
}  # fmt: skip
