"""Code in Markdown pages: find it, run it."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from bayescal.ranking import write_qrels, write_run
from tests.cli_tools import run

ROOT = Path(__file__).parent.parent
COPIED = {ROOT / "docs/notebooks", ROOT / "docs/papers"}  # by a build of the site
BLOCK = re.compile(r"^( *)```(\S*)\n(.*?)^\1```$", flags=re.DOTALL | re.MULTILINE)

PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for pattern in ("*.md", "models/*.md", "docs/**/*.md", "studies/papers/*/README.md")
    for page in sorted(ROOT.glob(pattern))
    if COPIED.isdisjoint(page.parents)
}


def blocks_of(page, language="python"):
    """Return a page's blocks in a language, in order; a page by its path in the project."""
    return [block for _, name, block in BLOCK.findall(PAGES[page]) if name == language]


def languages_of(page):
    """Return the languages that a page's blocks are marked as; "" of a plain block."""
    return {name for _, name, _ in BLOCK.findall(PAGES[page])}


def commands_of(page):
    """Return the lines of a page's shell blocks, without comments."""
    lines = "\n".join(blocks_of(page, "sh")).splitlines()
    return [command for line in lines if (command := re.sub(r"\s+#.*", "", line).strip())]


def run_python(blocks):
    exec(compile("\n".join(blocks), "<page>", "exec"), {"__name__": "page"})


def output_of(blocks, folder):
    """Return the output of blocks, run one after the other in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)],
        capture_output=True, text=True, check=True, cwd=folder,
    )  # fmt: skip
    return done.stdout


def run_commands(commands):
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "bayescal"
        # Programs are sampled by NUTS, whose draws at length show nothing more.
        few = ("--draws", "50", "--tune", "200", "--chains", "2") if "--model" in arguments else ()
        run(*arguments, *few)


def follow(page):
    """
    Yield each block of a guide, run in the current folder, what is shown below it, and its output.

    A block without a language shows the output of the block above.
    """
    names = {}
    blocks = [found[1:] for found in BLOCK.findall(PAGES[page])]
    for (language, block), (below, text) in pairwise([*blocks, ("end", "")]):
        shown = "" if below else text
        if language == "python":
            with redirect_stdout(StringIO()) as output:
                exec(compile(block, page, "exec"), names)
            yield block, shown, output.getvalue()
        elif language == "sh":
            refused = shown.startswith("Error")
            yield block, shown, "".join(said(line, refused) for line in block.splitlines())


def said(line, refused=False):
    """Return the output of a shell line; bayescal runs in this process."""
    words = shlex.split(line)
    if words[0] != "bayescal":
        return subprocess.run(line, shell=True, capture_output=True, text=True, check=True).stdout
    with patch.object(sys, "argv", words):
        return run(*words[1:], code=2 * refused).output


def run_in_shell(commands):
    """Run shell commands one after the other, as a user does, in the current folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(commands)],
        capture_output=True, text=True, check=False, env=os.environ | {"PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def write_samples(folder):
    """Write what pages call scores.csv, new.csv, held_out.csv, pairs.csv, docs.csv and the like."""
    rng = np.random.default_rng(0)
    for name, n in (("scores", 120), ("new", 40), ("held_out", 80)):
        label = np.arange(n) % 4 == 0
        table = {"score": rng.normal(2.0 * label, 1.0).round(3), "label": label.astype(int)}
        table["topic"] = np.where(np.arange(n) % 8 < 4, "corn", "wheat")
        pd.DataFrame(table).to_csv(folder / f"{name}.csv", index=False)
    for name, n in (("logits", 90), ("new_logits", 30), ("held_out_logits", 60)):
        klass = np.arange(n) % 3
        table = pd.DataFrame(rng.normal(size=(n, 3)) + 3.0 * np.eye(3)[klass])
        table = table.set_axis(["ant", "bee", "wasp"], axis=1).round(3)
        table.assign(label=table.columns.to_numpy()[klass]).to_csv(
            folder / f"{name}.csv", index=False
        )
    for name, n in (("grades", 120), ("held_out_grades", 80)):
        k = np.arange(n) % 3
        score, words = np.sin(np.arange(n)).round(3) + k, np.array(["poor", "fair", "good"])
        table = pd.DataFrame({"document": np.arange(n), "score": score, "label": words[k]})
        table.to_csv(folder / f"{name}.csv", index=False)
    p = rng.beta(1.0, 3.0, 160).round(3)
    outcomes = pd.DataFrame({"p": p, "y": (rng.random(160) < p).astype(int)})
    outcomes["hospital"] = np.where(np.arange(160) % 3 == 0, "north", "south")
    outcomes.to_csv(folder / "outcomes.csv", index=False)
    outcomes[["p"]].to_csv(folder / "next_month.csv", index=False)
    a, b = np.repeat(np.arange(12), 4), np.tile([0, 0, 1, 2], 12)
    b = (a + b) % 12
    pairs = {"score": rng.normal(3.0 * (a == b), 1.0).round(3), "label": (a == b).astype(int)}
    pd.DataFrame(pairs | {"a": a, "b": b}).to_csv(folder / "pairs.csv", index=False)
    # Labels of some rows of scores.csv, as reviewers give them.
    at = np.arange(0, 120, 2)  # from 0; a spreadsheet's first document stands in row 2
    read = {"row": at + 2, "label": (at % 4 == 0).astype(int)}
    pd.DataFrame(read).to_csv(folder / "read.csv", index=False)
    words = np.array([["wheat", "tonnes", "harvest", "crop"], ["bank", "rate", "dollar", "loan"]])
    label = rng.integers(0, 2, 120)
    text = [" ".join(rng.choice([*words[k], *words.ravel()], 12)) for k in label]
    docs = {"text": text, "label": np.array(["grain", "other"])[label]}
    pd.DataFrame(docs).to_csv(folder / "docs.csv", index=False)
    pd.DataFrame({"text": text[:9]}).to_csv(folder / "new_docs.csv", index=False)
    # Five queries of 15 documents, of which the last is not judged.
    query, relevant = np.repeat(np.arange(5), 15), np.tile(np.arange(15) % 4 == 0, 5)
    run = pd.DataFrame({"query_id": query, "doc_id": [f"d{k}" for k in range(75)]})
    for name in ("bm25", "dense"):
        write_run(run.assign(score=rng.normal(2.0 * relevant, 1.0)), folder / f"{name}.run")
    write_qrels(run.assign(relevance=relevant)[query < 4], folder / "qrels.txt")
