"""The corpus: its own counts where a copy is at hand, and copies and downloads gone wrong."""

import http.server
import io
import tarfile
import threading

import pandas as pd
import pytest

from studies.papers import corpora
from studies.papers.corpora import CorpusError, DownloadError, fetch_reuters21578, read_stories
from tests import corpus as reuters
from tests.corpus import TOPIC_COUNTS

STORY = (
    '<REUTERS TOPICS="{marked}" LEWISSPLIT="{split}" CGISPLIT="x" OLDID="9" NEWID="{number}">\n'
    "<TOPICS>{topics}</TOPICS><TEXT>{text}</TEXT></REUTERS>\n"
)


def story(number=1, *, marked="YES", split="TRAIN", topics="", text="<BODY>b</BODY>"):
    return STORY.format(number=number, marked=marked, split=split, topics=topics, text=text)


def one(**arguments):
    [found] = read_stories(story(**arguments).encode("latin-1"))
    return found


@pytest.fixture(scope="module")
def corpus():
    return reuters.corpus()


@pytest.fixture
def small(monkeypatch):
    """A corpus of three stories, as an archive would hold it."""
    monkeypatch.setattr(corpora, "STORIES", 3)
    monkeypatch.delenv(corpora.PATH_VARIABLE, raising=False)
    return {
        "reut2-000.sgm": (story(1) + story(2, split="TEST")).encode(),
        "reut2-001.sgm": story(3, marked="NO", text="caf\xe9").encode("latin-1"),
        "README.txt": b"not a story",
    }


def packed(files, folder, mode="w:gz"):
    path = folder / "corpus.tar.gz"
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


class TestTheCorpus:
    def test_splits_are_those_of_modapte(self, corpus):
        assert corpus["split"].value_counts().to_dict() == {
            "train": 9603,
            "test": 3299,
            "unused": 8676,
        }
        assert corpus["document"].tolist() == list(range(1, 21_579))

    def test_topics_are_counted_as_the_distribution_counts_them(self, corpus):
        topics = corpus.explode("topics").groupby("split")["topics"].value_counts()
        for topic, (train, test) in TOPIC_COUNTS.items():
            assert (topics["train", topic], topics["test", topic]) == (train, test)
        assert len(topics["train"]) == 115
        assert len(topics["test"]) == 93
        assert len(set(topics["train"].index) & set(topics["test"].index)) == 90

    def test_documents_with_a_topic(self, corpus):
        some = corpus[corpus["topics"].map(len) > 0]["split"].value_counts()
        assert (some["train"], some["test"]) == (7775, 3019)
        # R8's and R52's parents: exactly one topic.
        assert all(len(set(topics)) == len(topics) for topics in corpus["topics"])

    def test_text_is_clean(self, corpus):
        assert not corpus["text"].str.contains("&lt;|&amp;|&#|<BODY>|\x03", regex=True).any()
        # One story has neither headline nor body; none of them is in either split.
        assert (corpus.loc[corpus["split"] != "unused", "text"].str.len() > 0).all()
        assert corpus["text"].iloc[0].startswith("BAHIA COCOA REVIEW\nShowers continued")


class TestStories:
    @pytest.mark.parametrize(
        ("marked", "split", "expected"),
        [
            ("YES", "TRAIN", "train"),
            ("YES", "TEST", "test"),
            ("YES", "NOT-USED", "unused"),
            ("NO", "TRAIN", "unused"),
            ("BYPASS", "TEST", "unused"),
        ],
    )
    def test_parts_of_modapte(self, marked, split, expected):
        assert one(marked=marked, split=split).split == expected

    def test_a_topic_named_twice_counts_once(self):
        topics = "<D>corn</D><D>grain</D><D>corn</D>"
        assert one(topics=topics).topics == ("corn", "grain")

    def test_bytes_that_are_not_utf_8_are_read(self):
        assert one(text="<BODY>caf\xe9 &#252;ber &lt;IBM&gt;&#3;</BODY>").text == "café über <IBM>"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("<TITLE>up</TITLE><BODY>more</BODY>", "up\nmore"),
            ("<TITLE>up</TITLE>", "up"),
            ("\nbare\n", "bare"),
            ("", ""),
        ],
    )
    def test_text_whatever_is_marked(self, text, expected):
        assert one(text=text).text == expected

    def test_a_story_without_its_number_is_damage(self):
        broken = story().replace('NEWID="1"', "")
        with pytest.raises(ValueError, match="got one without NEWID"):
            list(read_stories(broken.encode()))


class TestCopies:
    def test_archive_folder_and_variable_are_read_alike(self, small, tmp_path, monkeypatch):
        archive = packed(small, tmp_path)
        folder = tmp_path / "copy"
        folder.mkdir()
        for name, content in small.items():
            (folder / name).write_bytes(content)
        expected = fetch_reuters21578(path=archive)
        assert expected["split"].tolist() == ["train", "test", "unused"]
        assert expected["text"].iloc[2] == "café"
        pd.testing.assert_frame_equal(fetch_reuters21578(path=folder), expected)
        monkeypatch.setenv(corpora.PATH_VARIABLE, str(archive))
        pd.testing.assert_frame_equal(fetch_reuters21578(), expected)

    def test_nothing_there(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="no copy of Reuters-21578 at"):
            fetch_reuters21578(path=tmp_path / "absent")

    @pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
    @pytest.mark.parametrize("keep", [0.0, 0.1, 0.5])
    def test_a_truncated_archive(self, small, tmp_path, mode, keep):
        archive = packed(small, tmp_path, mode)
        content = archive.read_bytes()
        # Of an uncompressed archive the last nine tenths are padding.
        archive.write_bytes(content[: int(keep * (len(content) if mode != "w" else 3000))])
        with pytest.raises(CorpusError, match=r"damaged one|missing or damaged"):
            fetch_reuters21578(path=archive)

    @pytest.mark.parametrize("mode", ["w:gz", "w:xz"])
    def test_a_byte_gone_wrong(self, small, tmp_path, mode):
        archive = packed(small, tmp_path, mode)
        content = bytearray(archive.read_bytes())
        content[len(content) // 2] ^= 255
        archive.write_bytes(content)
        with pytest.raises(CorpusError, match=r"damaged one|missing or damaged"):
            fetch_reuters21578(path=archive)

    def test_something_else(self, tmp_path):
        other = tmp_path / "corpus.tar.gz"
        other.write_bytes(b"no archive at all")
        with pytest.raises(CorpusError, match="no tar archive"):
            fetch_reuters21578(path=other)

    def test_a_missing_file(self, small, tmp_path):
        del small["reut2-001.sgm"]
        with pytest.raises(CorpusError, match="stories 1 to 3, got 2 of them"):
            fetch_reuters21578(path=packed(small, tmp_path))

    def test_a_damaged_story_names_its_file(self, small, tmp_path):
        small["reut2-001.sgm"] = story(3).replace("NEWID", "ID").encode()
        with pytest.raises(CorpusError, match=r"reut2-001\.sgm of .*without NEWID"):
            fetch_reuters21578(path=packed(small, tmp_path))


@pytest.fixture
def server():
    """Serve one answer on this machine; `answer` is (bytes to send, length to announce)."""

    class Handler(http.server.BaseHTTPRequestHandler):
        answer = (b"", 0)

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(self.answer[1]))
            self.end_headers()
            self.wfile.write(self.answer[0])

        def log_message(self, *_):
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield httpd, Handler
    httpd.shutdown()
    thread.join()
    httpd.server_close()


class TestDownloads:
    @pytest.fixture(autouse=True)
    def _pooch(self, small, server, monkeypatch, tmp_path):
        pytest.importorskip("pooch")
        self.httpd, self.handler = server
        self.home, self.archive = tmp_path / "home", packed(small, tmp_path)
        monkeypatch.setattr(corpora, "URL", f"http://127.0.0.1:{self.httpd.server_port}/c.tgz")
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)

    def serve(self, content, length=None):
        self.handler.answer = (content, len(content) if length is None else length)

    def left(self):
        return [path.name for path in self.home.iterdir()] if self.home.exists() else []

    def test_is_fetched_once_and_kept(self, monkeypatch):
        import hashlib

        content = self.archive.read_bytes()
        monkeypatch.setattr(corpora, "SHA256", hashlib.sha256(content).hexdigest())
        self.serve(content)
        first = fetch_reuters21578(data_home=self.home)
        self.serve(b"another answer")
        assert self.left() == ["c.tgz"]
        pd.testing.assert_frame_equal(fetch_reuters21578(data_home=self.home), first)

    def test_a_wrong_checksum_leaves_nothing(self):
        self.serve(b"a page that says please log in")
        with pytest.raises(CorpusError, match="another checksum"):
            fetch_reuters21578(data_home=self.home)
        assert self.left() == []

    def test_a_broken_connection_leaves_nothing(self):
        self.serve(b"half of it", length=1000)
        with pytest.raises(DownloadError, match="could not be fetched"):
            fetch_reuters21578(data_home=self.home)
        assert self.left() == []

    def test_no_network(self, monkeypatch):
        monkeypatch.setattr(corpora, "URL", "http://127.0.0.1:9/c.tgz")
        with pytest.raises(DownloadError, match="Without a network name a copy with path="):
            fetch_reuters21578(data_home=self.home)
        assert self.left() == []

    def test_without_pooch(self, monkeypatch):
        import sys

        monkeypatch.setitem(sys.modules, "pooch", None)
        with pytest.raises(ImportError, match="pip install pooch"):
            fetch_reuters21578(data_home=self.home)
