"""A folder of data as studies.problems reads it, a few fabricated documents of each source."""

import io
import lzma
import tarfile
from zipfile import ZipFile

import numpy as np

STORIES = 60
LABELS_XML = (
    '<labels xmlns="http://mulan.sourceforge.net/labels">'
    '<label name="often"></label><label name="rare"></label></labels>'
)
STORY = (
    '<REUTERS TOPICS="YES" LEWISSPLIT="{split}" NEWID="{number}"><TOPICS>{topics}</TOPICS>'
    "<TEXT><BODY>{text}</BODY></TEXT></REUTERS>\n"
)


def write_all(folder):
    """Write every source."""
    for name in ("tabular", "text", "email_intent", "multilabel", "reuters21578"):
        (folder / name).mkdir()
    _tables(folder / "tabular")
    _texts(folder / "text")
    _emails(folder / "email_intent")
    _multilabel(folder / "multilabel")
    _reuters(folder / "reuters21578")


def _tables(folder):
    numbers = np.random.default_rng(0).normal(size=(100, 2))
    for name, labels in {
        "german": ["-1.0"] * 60 + ["1.0"] * 40,
        "vehicle": ["a"] * 50 + ["b"] * 40 + ["c"] * 10,
    }.items():
        rows = [f"{x:.3f},{y:.3f},{c}" for (x, y), c in zip(numbers, labels, strict=True)]
        _xz(folder / f"{name}.csv.xz", "\n".join(["x0,x1,label", *rows]))


def _texts(folder):
    messages = ["spam\twin a prize\tnow"] * 20 + ["ham\tsee you at home, l\xe8"] * 30
    _xz(folder / "sms_spam.tsv.xz", "\n".join(messages) + "\n")
    questions = ["NUM:date When was it ?"] * 25 + ["HUM:ind Who was it ?"] * 15
    with ZipFile(folder / "qc.zip", "w") as archive:
        archive.writestr("qc/train.txt", "\n".join(questions).encode())
        archive.writestr("qc/test.txt", b"NUM:count How many ?\nNUM:date When is it ?\n")
    for name, positive, negative in (
        ("subjectivity", "quote.tok.gt9.5000", "plot.tok.gt9.5000"),
        ("sentence_polarity", "rt-polarity.pos", "rt-polarity.neg"),
    ):
        with ZipFile(folder / f"{name}.zip", "w") as archive:
            archive.writestr(f"{name}/{positive}", b"a fine caf\xe9 story \n" * 30)
            archive.writestr(f"{name}/{negative}", b"a man goes home \n" * 40)


def _emails(folder):
    train = "Yes\tPlease send it\n" * 20 + "No\tThe weather is fine\n" * 30
    (folder / "Ask0729-fixed.txt").write_text(train)
    (folder / "testSet-qualifiedBatch-fixed.txt").write_text("No\tA test\nYes\tDo it\n")


def _multilabel(folder):
    # Labels stand among the words, and one word has a name in quotes.
    head = ["word", "'two words'", "often", "last", "rare"]
    lines = ["@relation x", "", *(f"@attribute {name} {{0,1}}" for name in head), "", "@data"]
    train = ["{0 1,1 0,2 1}"] * 12 + ["{1 1,3 1}"] * 20 + ["{0 1,2 1,4 1}"] * 3
    (folder / "medical.xml").write_text(LABELS_XML)
    _xz(folder / "medical-train.arff.xz", "\n".join(lines + train))
    _xz(folder / "medical-test.arff.xz", "\n".join([*lines, "{3 1,4 1}"]))


def _reuters(folder):
    stories = [_story(k) for k in range(1, STORIES + 1)]
    content = "".join(stories).encode()
    with tarfile.open(folder / "reuters21578.tar.xz", "w:xz") as archive:
        member = tarfile.TarInfo("reut2-000.sgm")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))


def _story(number):
    split = "TEST" if number > 50 else "TRAIN"
    topics = "<D>corn</D><D>grain</D>" if number % 3 else "<D>ship</D>" if number < 50 else ""
    text = "corn up" if number % 3 else "a ship"
    return STORY.format(number=number, split=split, topics=topics, text=text)


def _xz(path, text):
    path.write_bytes(lzma.compress(text.encode("utf-8")))
