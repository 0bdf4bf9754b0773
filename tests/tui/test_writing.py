"""What stands behind the composer: labels for long texts, the walk through what was written, files behind an @."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkv.errors import UsageError
from chatkv.tui.writing.attaching import begun, fenced, files_in, listed, text_of
from chatkv.tui.writing.editor import edited, editor_command
from chatkv.tui.writing.history import PAGE, History
from chatkv.tui.writing.pastes import Pastes
from chatkv.tui.writing.written import Written, relabelled

ODD = st.text(alphabet=st.sampled_from("a\n\r\t\x0b\u2028 é⟦⟧·日👩‍💻שָׁ`~"), max_size=200)
LONG = ODD.map(lambda text: f"{text}x" * 60 + "\n" * 101)


@given(st.lists(st.tuples(ODD, st.booleans()), max_size=6))
def test_texts_and_their_labels_are_exact_and_can_be_laid_out_again(parts: list[tuple[str, bool]]) -> None:
    pastes, shown, exact = Pastes(), "", ""
    for text, long in parts:
        whole = text + "\n" * 101 if long else text
        shown += pastes.take(whole, shown)
        exact += whole
    assert pastes.expand(shown) == exact
    written = pastes.written(shown)
    assert written.text == exact
    again = Pastes()
    assert again.expand(again.fold(written)) == exact
    assert again.written(again.fold(written)).text == exact


@given(LONG, st.integers(0, 10**7))
def test_a_label_gets_its_count_and_the_old_one_stays_valid(text: str, n_tokens: int) -> None:
    pastes = Pastes()
    label = pastes.take(text)
    longer = pastes.counted(label, text, n_tokens)
    assert longer is not None
    assert f" · {n_tokens:,} token" in longer
    assert pastes.expand(label + longer) == text + text
    assert pastes.counted(longer, text, n_tokens) is None or n_tokens == 1
    assert pastes.counted(label, text + "!", 1) is None


def test_a_text_that_looks_like_a_label_is_itself() -> None:
    pastes = Pastes()
    label = pastes.take("x" * 7000)
    copied = pastes.take(f"I saw {label} there")
    assert copied != f"I saw {label} there"
    assert pastes.expand(f"{label} {copied}") == f"{'x' * 7000} I saw {label} there"


def test_with_much_in_the_editor_smaller_pastes_become_labels() -> None:
    assert Pastes().take("y" * 600, "x" * 49_999) == "y" * 600
    assert Pastes().take("y" * 600, "x" * 50_000).startswith("⟦paste 1 · 1 line · 600 B")


def test_labels_are_found_again_in_a_text_that_was_edited_elsewhere() -> None:
    before = Written("see AAA and BBB", ((4, 3, "⟦a⟧"), (12, 3, "⟦b⟧")))
    assert relabelled("now BBB, AAA", before).labels == ((9, 3, "⟦a⟧"),)
    assert relabelled("AAA BBB", before).labels == ((0, 3, "⟦a⟧"), (4, 3, "⟦b⟧"))


class Past:
    """A store with these messages, oldest first; answers when told to."""

    def __init__(self, texts: Sequence[str], own: Sequence[str] = ()) -> None:
        self.texts = texts
        self.asked: list[int | None] = []
        self.history = History(lambda: own, self.asked.append)

    def answer(self) -> None:
        before = self.asked.pop(0)
        last = len(self.texts) if before is None else before
        ids = range(last - 1, max(-1, last - 1 - PAGE), -1)
        self.history.take([(n, self.texts[n]) for n in ids])

    def up(self, now: str) -> str:
        found = self.history.older(Written(now))
        while found is None and self.asked:
            self.answer()
            found = self.history.older(Written(now)) if self.history.awaited else None
        return now if found is None else found.text

    def down(self, now: str) -> str:
        found = self.history.newer(Written(now))
        return now if found is None else found.text


@given(
    st.lists(st.sampled_from("abcdef "), max_size=130),
    st.lists(st.sampled_from("xyza"), max_size=5),
    st.text(max_size=3),
    st.integers(0, 200),
)
def test_the_walk_goes_back_through_all_and_returns_to_the_draft(
    stored: list[str], own: list[str], draft: str, steps: int
) -> None:
    past = Past(stored, own)
    expected = list(dict.fromkeys(text for text in (*reversed(own), *reversed(stored)) if text.strip()))
    now, seen = draft, []
    for _ in range(steps):
        now = past.up(now)
        seen.append(now)
    assert seen[: len(expected)] == expected[:steps]
    assert all(text == (expected[-1] if expected else draft) for text in seen[len(expected) :])
    for _ in range(steps):
        now = past.down(now)
    assert now == draft
    assert not past.history.walking


def test_what_is_changed_on_the_walk_stays_until_something_is_sent() -> None:
    past = Past(["one", "two"])
    assert past.up("draft") == "two"
    assert past.history.draft(Written("two")).text == "draft"
    assert past.history.draft(Written("two!")).text == "two!"
    assert past.up("two!") == "one"
    assert past.down("one") == "two!"
    past.history.note("two!")
    assert past.up("") == "two!"
    assert past.up("two!") == "two"


def test_a_store_without_an_end_is_not_read_to_its_end() -> None:
    past = Past([str(n) for n in range(5000)])
    now = ""
    for _ in range(3000):
        now = past.up(now)
    assert 1_000 <= 5000 - int(now) <= 1_100


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("@no", "no"),
        ("see @a/b", "a/b"),
        ('see @"my fi', "my fi"),
        ("@", ""),
        ("me@home", None),
        ("@done ", None),
        ('@"done" x', None),
    ],
)
def test_a_path_is_begun_at_a_words_start(line: str, path: str | None) -> None:
    found = begun(line, len(line))
    assert (found.path if found else None) == path


def test_a_folder_is_listed_folders_first_hidden_names_when_asked(tmp_path: Path) -> None:
    for name in ("notes.txt", "Next", ".hidden", "with space.md", "new\nline"):
        (tmp_path / name).touch()
    (tmp_path / "nested").mkdir()
    (tmp_path / "nested" / "inner.txt").touch()
    assert [entry.path for entry in listed("n", tmp_path)] == ["nested", "Next", "notes.txt"]
    assert [entry.typed for entry in listed("w", tmp_path)] == ['@"with space.md"']
    assert [entry.typed for entry in listed("nest", tmp_path)] == ["@nested/"]
    assert [entry.path for entry in listed("nested/", tmp_path)] == ["nested/inner.txt"]
    assert [entry.path for entry in listed(".h", tmp_path)] == [".hidden"]
    assert listed("nowhere/", tmp_path) == listed("a\0b/", tmp_path) == []


def test_a_huge_folder_is_listed_in_part(tmp_path: Path) -> None:
    for n in range(300):
        (tmp_path / f"f{n:03}").touch()
    found = listed("f", tmp_path)
    assert [entry.path for entry in found] == [f"f{n:03}" for n in range(50)]


def test_paths_that_are_files_are_found_in_a_message(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    (tmp_path / "my file.md").touch()
    text = 'see @a.txt, @"my file.md" and @nobody or me@a.txt; @a.txt.'
    found = files_in(text, tmp_path)
    assert [text[mention.start : mention.end] for mention, _ in found] == [
        "@a.txt",
        '@"my file.md"',
        "@a.txt",
    ]
    assert files_in("@~nobody-here/x @.", tmp_path) == []


@given(st.text(st.sampled_from("`\na é"), max_size=60))
def test_a_fence_is_longer_than_any_in_the_file(text: str) -> None:
    whole = fenced("n", text)
    head, fence, rest = whole.split("\n", 3)[0], whole.split("\n", 3)[2], whole.split("\n", 3)[3]
    assert head == "n:"
    assert fence not in text
    assert rest.removesuffix(f"{fence}\n") in (text, f"{text}\n")


def test_what_is_no_text_is_not_attached(tmp_path: Path) -> None:
    file = tmp_path / "f"
    for content, said in ((b"\xff\xfe", "UTF-8"), (b"a\0b", "not text")):
        file.write_bytes(content)
        with pytest.raises(UsageError, match=said):
            text_of(file)
    os.truncate(file, (4 << 20) + 1)
    with pytest.raises(UsageError, match="4 MiB"):
        text_of(file)
    file.unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        text_of(file)


def test_an_editor_is_the_one_that_is_named() -> None:
    python = sys.executable
    assert editor_command({"VISUAL": f"'{python}' -x", "EDITOR": "other"}) == [python, "-x"]
    assert editor_command({"EDITOR": python}) == [python]
    with pytest.raises(UsageError, match="no editor 'no-such-editor'"):
        editor_command({"VISUAL": "no-such-editor"})
    with pytest.raises(UsageError, match="cannot be read"):
        editor_command({"VISUAL": "'half"})


def program(script: str) -> list[str]:
    return [
        sys.executable,
        "-c",
        f"import sys, os; from pathlib import Path; f = Path(sys.argv[1]); {script}",
    ]


@given(st.text(st.sampled_from("a\n\r\té\u2028👩‍💻"), max_size=20))
def test_a_text_comes_back_from_the_editor_exactly(text: str) -> None:
    assert edited(text, ["true"]) == text


def test_the_editor_works_on_a_private_file_that_is_gone_afterwards(tmp_path: Path) -> None:
    said = tmp_path / "said"
    script = (
        f"Path({str(said)!r}).write_text(f'{{f}} {{f.stat().st_mode & 0o777:o}}'); f.write_text('new\\n')"
    )
    assert edited("old", program(script)) == "new"
    name, mode = said.read_text().split()
    assert (Path(name).suffix, Path(name).exists(), mode) == (".md", False, "600")
    assert edited("old\n", program("f.write_text('new\\n')")) == "new\n"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sys.exit(3)", "exit code 3"),
        ("f.write_bytes(b'\\xff')", "not UTF-8"),
        ("f.unlink()", "did not work"),
    ],
)
def test_an_editor_that_fails_is_told_of(script: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        edited("text", program(script))
