"""The choice of a model says what each takes, whether it fits, and what else would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from chatkv.models.known import KNOWN, suggested
from chatkv.models.shape import Shape, shape_of
from chatkv.protocol import Kv, Ready
from chatkv.tui.behind import room as rooms
from chatkv.tui.behind.room import NO_ROOM, Room, room_for_a_model
from chatkv.tui.memory.gauges import Gauges
from chatkv.tui.screens.chat import ChatScreen
from chatkv.tui.screens.models import taken
from tui.driving import chat_of, make_app, ready, sees, settled, shown, until
from tui.model_shelf import choosing, shelve, write_folder
from tui.picturing import Compare, picture

GIB = 1 << 30


def write_shape(folder: Path, **more: object) -> Path:
    """A model folder with this configuration."""
    path = write_folder(folder)
    (path / "config.json").write_text(json.dumps({"model_type": "llama", **more}))
    return path


def test_the_shape_of_a_folder(tmp_path: Path) -> None:
    plain = {"num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "hidden_size": 576}
    shape = shape_of(write_shape(tmp_path / "a", **plain, max_position_embeddings=8192))
    assert (shape.kv_nbytes, shape.context) == (23_040, 8192)
    assert shape.weights_nbytes == (tmp_path / "a" / "model.safetensors").stat().st_size
    wide = shape_of(write_shape(tmp_path / "b", **plain, head_dim=128, torch_dtype="float32"))
    assert wide.kv_nbytes == 2 * 30 * 3 * 128 * 2
    assert wide.weights_nbytes == shape.weights_nbytes // 2
    mixed = {**plain, "layer_types": ["linear_attention", "full_attention"] * 15}
    assert shape_of(write_shape(tmp_path / "c", text_config=mixed)).kv_nbytes == 23_040 // 2


@pytest.mark.parametrize("text", ["", "[]", '{"num_hidden_layers": "many"}'])
def test_a_folder_that_does_not_tell_has_no_shape(text: str, tmp_path: Path) -> None:
    path = write_folder(tmp_path / "a")
    (path / "config.json").write_text(text)
    assert shape_of(path).kv_nbytes == 0
    assert shape_of(tmp_path / "nowhere") == Shape()


def test_what_fits_is_said_in_words() -> None:
    shape = Shape(4 * GIB, 1 << 20, 8192)
    assert taken(shape, NO_ROOM) == ["KV 1.0 MiB / token"]
    assert taken(shape, Room(3 * GIB, "memory"))[1] == "does not fit: needs 4.0 GiB"
    assert taken(shape, Room(5 * GIB, "memory"))[1] == "fits, about 1024 tokens"
    assert taken(shape, Room(99 * GIB, "memory"))[1] == "fits, all 8,192 tokens"
    assert taken(Shape(), Room(5 * GIB, "memory")) == []


def test_what_is_suggested_fits() -> None:
    assert [model.shape.weights_nbytes for model in KNOWN] == sorted(m.shape.weights_nbytes for m in KNOWN)
    for gib in (1, 4, 12, 24, 100):
        for model in suggested(gib * GIB, 9):
            assert model.shape.weights_nbytes + 4096 * model.shape.kv_nbytes <= gib * GIB
    assert suggested(GIB >> 1) == []
    assert suggested(100 * GIB)[0] is KNOWN[-1]
    assert max(m.shape.weights_nbytes for m in suggested(100 * GIB, slow=True)) < 9e9


async def test_the_room_counts_what_the_loaded_model_gives_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "_free_on_gpu", lambda index: (10 + index) * GIB)
    loaded = Kv(0, 0, GIB, 0, 0, weights_bytes=2 * GIB)

    def on(device: str) -> Gauges:
        return Gauges(ready=Ready("m", device, "bfloat16", 1, 1, 0.1), kv=loaded)

    assert await room_for_a_model(on("cuda:1")) == Room(int(11 * GIB * 0.9) + 3 * GIB, "GPU memory")
    assert await room_for_a_model(Gauges()) == Room(9 * GIB, "GPU memory")
    assert (await room_for_a_model(on("cpu"))).slow
    monkeypatch.setattr(rooms, "_free_on_gpu", lambda index: 0)
    assert not (await room_for_a_model(on("cuda:0"))).known
    assert (await room_for_a_model(Gauges())).where == "memory"


def test_a_tool_that_says_nonsense_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert rooms._free_on_gpu(0) == 0 or tool.exists()
    for script, free in (("echo $1 | tr -dc 0-9", 5 << 20), ("echo nonsense", 0), ("exit 3", 0), ("true", 0)):
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
        assert rooms._free_on_gpu(1) == free


async def test_a_model_on_the_hub_can_be_chosen_and_the_heading_cannot(tmp_path: Path) -> None:
    async with make_app(tmp_path, room=Room(12 * GIB, "GPU memory")).run_test(size=(110, 40)) as pilot:
        await ready(pilot)
        marked = await choosing(pilot)
        await sees(pilot, "About 12.0 GiB of GPU memory", "On the Hugging Face hub", "fetches 7.5 GiB")
        for at in (1, 3, 4, 3):
            await pilot.press("up" if at < (marked.highlighted or 0) else "down")
            assert marked.highlighted == at
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
        await until(pilot, lambda: chat_of(pilot).held.loaded == "Qwen/Qwen3-4B-Instruct-2507")


async def test_sizes_lose_nothing(tmp_path: Path) -> None:
    shelve(tmp_path, "org/one")
    async with make_app(tmp_path, room=Room(12 * GIB, "memory")).run_test(size=(110, 40)) as pilot:
        await ready(pilot)
        marked = await choosing(pilot)
        await pilot.press("down")
        for size in ((40, 12), (300, 80), (24, 5), (110, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert marked.highlighted == 1
        assert "org/one" in shown(pilot)


@pytest.mark.parametrize("size", [(110, 40), (60, 20)], ids=lambda size: "x".join(map(str, size)))
def test_pictures(size: tuple[int, int], tmp_path: Path, snap_compare: Compare) -> None:
    shape = {"num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "hidden_size": 576}
    shelve(tmp_path, "org/one", "org/two")
    for name in ("one", "two"):
        (config,) = (tmp_path / "hub" / f"models--org--{name}").rglob("config.json")
        config.write_text(json.dumps({"model_type": "llama", **shape, "max_position_embeddings": 8192}))

    async def act(pilot: Pilot[None]) -> None:
        await ready(pilot)
        await settled(pilot)
        await choosing(pilot)
        await pilot.press("down")

    assert picture(make_app(tmp_path, room=Room(12 * GIB, "memory")), snap_compare, act, size)
