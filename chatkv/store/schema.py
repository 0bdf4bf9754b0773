"""The tables, as migrations that are only ever added to: a version stays as it is for good.

Knows nothing of what is stored in them. A later change is a new migration below the last one, and
`database.VERSION` counts it.
"""

from __future__ import annotations

from sqlite_utils import Database, Migrations

migrations = Migrations("chatkv")


@migrations()
def v1(db: Database) -> None:
    """Sessions, the message tree with its search index, turns, events, claims.

    No CHECK lists the allowed statuses or kinds, since widening a CHECK means rebuilding the table.
    """
    for statement in _V1:
        db.execute(statement)


@migrations()
def v2(db: Database) -> None:
    """What memory needs: summaries, pins, documents, the archive's passages, recalled text, linked sessions."""
    for statement in _V2:
        db.execute(statement)


@migrations()
def v3(db: Database) -> None:
    """The index of KV blocks on disk, who uses them, what was measured here; a search index that finds pieces."""
    for statement in _V3:
        db.execute(statement)


@migrations()
def v4(db: Database) -> None:
    """What is written and not sent, kept per session."""
    for statement in _V4:
        db.execute(statement)


# AUTOINCREMENT: an id is never given out twice, so a stale id cannot reach someone else's message.
# The key (session_id, id) lets a message point only at a parent of its own session; it counts messages, too.
_V1 = (
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        model TEXT NOT NULL,
        system TEXT,
        leaf_id INTEGER,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        FOREIGN KEY (id, leaf_id) REFERENCES messages (session_id, id) DEFERRABLE INITIALLY DEFERRED
    )""",
    "CREATE INDEX sessions_by_update ON sessions (updated_at, id)",
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        parent_id INTEGER CHECK (parent_id < id),
        role TEXT NOT NULL,
        text TEXT NOT NULL,
        thought TEXT NOT NULL,
        ids BLOB NOT NULL,
        answer_start INTEGER NOT NULL,
        status TEXT NOT NULL,
        turn INTEGER NOT NULL,
        model TEXT NOT NULL,
        created_at REAL NOT NULL,
        UNIQUE (session_id, id),
        FOREIGN KEY (session_id, parent_id) REFERENCES messages (session_id, id)
    )""",
    "CREATE INDEX messages_by_parent ON messages (session_id, parent_id)",
    "CREATE INDEX messages_streaming ON messages (session_id) WHERE status = 'streaming'",
    """CREATE VIRTUAL TABLE message_search USING fts5 (text, tokenize = "unicode61 remove_diacritics 2")""",
    """CREATE TABLE turns (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        turn INTEGER NOT NULL,
        user_id INTEGER NOT NULL,
        message_id INTEGER NOT NULL,
        finish TEXT NOT NULL,
        reused INTEGER NOT NULL,
        prefilled INTEGER NOT NULL,
        prefilled_early INTEGER NOT NULL,
        decoded INTEGER NOT NULL,
        recalled INTEGER NOT NULL,
        ttft_s REAL,
        tpot_s REAL,
        total_s REAL NOT NULL,
        kv_used_bytes INTEGER NOT NULL,
        kv_reserved_bytes INTEGER NOT NULL,
        kv_budget_bytes INTEGER NOT NULL,
        kv_tokens INTEGER NOT NULL,
        model TEXT NOT NULL,
        created_at REAL NOT NULL
    )""",
    "CREATE INDEX turns_by_session ON turns (session_id)",
    """CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT REFERENCES sessions (id),
        kind TEXT NOT NULL,
        data TEXT NOT NULL,
        created_at REAL NOT NULL
    )""",
    "CREATE INDEX events_by_session ON events (session_id)",
    """CREATE TABLE claims (
        session_id TEXT PRIMARY KEY REFERENCES sessions (id),
        owner TEXT NOT NULL,
        claimed_at REAL NOT NULL
    )""",
)

# A summary stands for the branch up to message `upto_id`: on a branch without that message it is not in force.
# `kept` lists the user messages before it that stayed verbatim, as JSON. `undone` rows stay for the record.
_V2 = (
    "ALTER TABLE messages ADD COLUMN recalled TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE sessions ADD COLUMN carried_from TEXT REFERENCES sessions (id)",
    "CREATE INDEX sessions_by_origin ON sessions (carried_from) WHERE carried_from IS NOT NULL",
    """CREATE TABLE summaries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        upto_id INTEGER NOT NULL,
        kept TEXT NOT NULL,
        text TEXT NOT NULL,
        origin TEXT NOT NULL,
        edited TEXT NOT NULL,
        undone INTEGER NOT NULL DEFAULT 0,
        created_at REAL NOT NULL,
        FOREIGN KEY (session_id, upto_id) REFERENCES messages (session_id, id)
    )""",
    "CREATE INDEX summaries_by_session ON summaries (session_id, id)",
    """CREATE TABLE pins (
        session_id TEXT NOT NULL REFERENCES sessions (id),
        message_id INTEGER NOT NULL,
        created_at REAL NOT NULL,
        PRIMARY KEY (session_id, message_id),
        FOREIGN KEY (session_id, message_id) REFERENCES messages (session_id, id)
    )""",
    """CREATE TABLE documents (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        name TEXT NOT NULL,
        text TEXT NOT NULL,
        created_at REAL NOT NULL
    )""",
    "CREATE INDEX documents_by_session ON documents (session_id)",
    """CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        document_id INTEGER NOT NULL REFERENCES documents (id),
        session_id TEXT NOT NULL REFERENCES sessions (id),
        text TEXT NOT NULL
    )""",
    "CREATE INDEX passages_by_session ON passages (session_id, id)",
)

# A block is a file of the same name. `parent` is the block before it, or a name that stands for the beginning.
# `digest` is of the whole file: neither a changed file nor a changed row passes for the other.
_V3 = (
    "ALTER TABLE sessions ADD COLUMN spec TEXT NOT NULL DEFAULT ''",
    """CREATE TABLE blocks (
        name TEXT PRIMARY KEY,
        parent TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        ids BLOB NOT NULL,
        n_bytes INTEGER NOT NULL,
        digest TEXT NOT NULL,
        created_at REAL NOT NULL,
        used_at REAL NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX blocks_by_parent ON blocks (parent)",
    "CREATE INDEX blocks_by_use ON blocks (used_at)",
    """CREATE TABLE block_users (
        session_id TEXT NOT NULL REFERENCES sessions (id),
        name TEXT NOT NULL REFERENCES blocks (name),
        PRIMARY KEY (session_id, name)
    ) WITHOUT ROWID""",
    "CREATE INDEX block_users_by_name ON block_users (name)",
    """CREATE TABLE kv_rates (
        fingerprint TEXT PRIMARY KEY,
        prefill_tokens_per_s REAL NOT NULL,
        read_bytes_per_s REAL NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE kv_verdicts (
        fingerprint TEXT PRIMARY KEY,
        model TEXT NOT NULL,
        allowed INTEGER NOT NULL,
        kl REAL NOT NULL,
        agreement REAL NOT NULL,
        n_tokens INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "DROP TABLE message_search",
    # Which messages of a shard (8,192 neighbouring ids) have a piece of a word: see `postings`.
    """CREATE TABLE search_pieces (
        shard INTEGER NOT NULL,
        piece TEXT NOT NULL,
        docs BLOB NOT NULL,
        PRIMARY KEY (shard, piece)
    ) WITHOUT ROWID""",
    # `recipe` names the rules by which a shard's texts were cut into pieces.
    "CREATE TABLE search_shards (shard INTEGER PRIMARY KEY, recipe TEXT NOT NULL)",
    # Spans of ids whose messages are not in the index yet. They never overlap.
    "CREATE TABLE search_queue (low INTEGER PRIMARY KEY, high INTEGER NOT NULL)",
    "INSERT INTO search_queue (low, high) SELECT min(id), max(id) FROM messages HAVING count(*) > 0",
)

# Without a session: what is written in one that is not stored yet. `labels` (JSON: start, length, label) says which
# stretches of `text` stand in the composer as a label.
_V4 = (
    """CREATE TABLE drafts (
        session_id TEXT REFERENCES sessions (id),
        text TEXT NOT NULL,
        labels TEXT NOT NULL,
        updated_at REAL NOT NULL
    )""",
    "CREATE UNIQUE INDEX drafts_by_session ON drafts (coalesce(session_id, ''))",
)
