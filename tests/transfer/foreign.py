"""Files of other programs in their documented shapes, small and with every part that matters."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

Node = dict[str, Any]


def text(*parts: Any) -> dict[str, Any]:
    return {"content_type": "text", "parts": list(parts)}


def node(
    key: str,
    parent: str | None,
    role: str | None = None,
    content: Any = None,
    *,
    children: list[str] | None = None,
    at: float | None = 1_700_000_000.5,
    **metadata: Any,
) -> Node:
    """One entry of a mapping; without `role`, one without a message."""
    message = {
        "id": key,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": metadata,
        "recipient": "all",
    }
    return {"id": key, "message": message if role else None, "parent": parent, "children": children or []}


def conversation(nodes: list[Node], current: str | None = None, **more: Any) -> dict[str, Any]:
    """A conversation of ChatGPT's export; children are filled in from parents."""
    mapping = {entry["id"]: entry for entry in nodes}
    for entry in nodes:
        if entry["parent"] in mapping:
            mapping[entry["parent"]]["children"].append(entry["id"])
    return {
        "title": "Boats",
        "create_time": 1_700_000_000.25,
        "update_time": 1_700_000_900.75,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": current if current is not None else nodes[-1]["id"],
        "plugin_ids": None,
        "conversation_id": "6543-abc",
        "id": "6543-abc",
        "default_model_slug": "gpt-4o",
        **more,
    }


def boats() -> dict[str, Any]:
    """Hidden system node, custom instructions, an edited question, a regenerated answer, reasoning and a tool."""
    return conversation(
        [
            node("root", None),
            node("sys", "root", "system", text(""), at=None, is_visually_hidden_from_conversation=True),
            node(
                "ctx",
                "sys",
                "user",
                {
                    "content_type": "user_editable_context",
                    "user_profile": "I sail.",
                    "user_instructions": "Be brief.",
                },
                is_user_system_message=True,
                is_visually_hidden_from_conversation=True,
            ),
            node("q1", "ctx", "user", text("How many boats?")),
            node("a1", "q1", "assistant", text("Eight."), model_slug="gpt-4o"),
            node("a1b", "q1", "assistant", text("Nine."), model_slug="gpt-4o"),
            node("q1b", "ctx", "user", text("How many ships?")),
            node("a1c", "q1b", "assistant", text("Two."), model_slug="gpt-4o"),
            node("q2", "a1b", "user", text("Count them.")),
            node(
                "think",
                "q2",
                "assistant",
                {"content_type": "thoughts", "thoughts": [{"summary": "Counting", "content": "One by one."}]},
                model_slug="o3",
            ),
            node(
                "recap",
                "think",
                "assistant",
                {"content_type": "reasoning_recap", "content": "Thought for 5s"},
            ),
            node(
                "code",
                "recap",
                "assistant",
                {"content_type": "code", "language": "python", "text": "len(boats)"},
            ),
            node("out", "code", "tool", {"content_type": "execution_output", "text": "9"}),
            node("a2", "out", "assistant", text("There are nine."), model_slug="o3"),
        ]
    )


SHAREGPT = [
    {
        "id": "x",
        "conversations": [
            {"from": "system", "value": "Be kind."},
            {"from": "human", "value": "Hello"},
            {"from": "gpt", "value": "Hi!"},
        ],
    },
    {"messages": [{"role": "user", "content": "What is 2+2?"}, {"role": "assistant", "content": "4"}]},
]


def llm_log(file: Path, *, newer: bool) -> Path:
    """A `logs.db` of llm: `newer` with fragments, attachments, tools and resolved models."""
    connection = sqlite3.connect(file)
    columns = "id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT, options_json TEXT"
    columns += (
        ", response TEXT, response_json TEXT, conversation_id TEXT, duration_ms INTEGER, datetime_utc TEXT"
    )
    if newer:
        columns += ", input_tokens INTEGER, output_tokens INTEGER, token_details TEXT, schema_id TEXT"
        columns += ", resolved_model TEXT"
    connection.executescript(
        f"""CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
        CREATE TABLE responses ({columns});
        CREATE TABLE _llm_migrations (name TEXT, applied_at TEXT);
        INSERT INTO _llm_migrations VALUES ('m001_initial', '2023');
        CREATE VIRTUAL TABLE responses_fts USING fts5 (prompt, response, content=responses);"""
    )
    rows = [
        ("r1", "gpt-4o", "Name a boat", "Be brief.", "Walrus", "c1", "2024-03-01T10:00:00.250000"),
        ("r2", "gpt-4o", "Another", "Be brief.", "Pelican", "c1", "2024-03-01T10:01:00+00:00"),
        ("r3", "o3", "Alone", None, "Yes", None, "2024-03-02T10:00:00"),
    ]
    insert = (
        "INSERT INTO responses (id, model, prompt, system, response, conversation_id, datetime_utc) VALUES "
    )
    connection.executemany(f"{insert} (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.execute("INSERT INTO conversations VALUES ('c1', 'Boats', 'gpt-4o')")
    if newer:
        connection.executescript(
            """CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT, source TEXT);
            CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
            CREATE TABLE system_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
            CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
            CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
            CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT);
            CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, output TEXT);
            CREATE TABLE turns_of_tomorrow (id TEXT);
            INSERT INTO turns_of_tomorrow VALUES ('x');
            INSERT INTO fragments VALUES (1, 'h', 'second piece', '', ''), (2, 'g', 'first piece', '', '');
            INSERT INTO prompt_fragments VALUES ('r3', 1, 1), ('r3', 2, 0);
            INSERT INTO attachments VALUES ('a', 'image/png', NULL, NULL, x'00');
            INSERT INTO prompt_attachments VALUES ('r3', 'a', 0);
            INSERT INTO tool_calls VALUES (1, 'r3', 'count', '{"what": "boats"}');
            INSERT INTO responses (id, model, prompt, response, conversation_id, datetime_utc)
                VALUES ('r4', 'gpt-4o', '', 'Nine.', 'c1', '2024-03-01T10:02:00');
            INSERT INTO tool_results VALUES (1, 'r4', 'count', '9');"""
        )
    connection.commit()
    connection.close()
    return file


def written(file: Path, data: Any) -> Path:
    """`data` as JSON in `file`."""
    file.write_text(json.dumps(data), encoding="utf-8")
    return file
