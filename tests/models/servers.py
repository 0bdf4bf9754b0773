"""Servers on loopback: a package index that can cut a download short, and a small Hugging Face hub."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Index:
    """A package index with one wheel. `cut` = end every transfer half way; `more` = go on past half way."""

    wheel: Path
    cut: bool = False
    more: threading.Event = field(default_factory=threading.Event)


@dataclass
class Hub:
    """Repositories by name, each a folder of files; `asked` collects request paths.

    `gated` repositories refuse. The first download of a file named `cut` ends half way, later ones are
    refused. `status` answers every request.
    """

    repos: dict[str, Path]
    gated: set[str] = field(default_factory=set)
    status: int = 0
    commit: str = COMMIT
    cut: str = ""
    was_cut: bool = False
    asked: list[str] = field(default_factory=list)


@contextmanager
def serve(site: Index | Hub) -> Iterator[str]:
    """Serve `site` while the block runs; its URL."""
    kind = _IndexHandler if isinstance(site, Index) else _HubHandler
    handler = type("Handler", (kind,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""

    def answer(self, status: int, body: bytes = b"", nbytes: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if nbytes is None else nbytes))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _IndexHandler(_Handler):
    site: Index

    def do_GET(self) -> None:
        wheel = self.site.wheel
        content = wheel.read_bytes()
        if not self.path.endswith(".whl"):
            link = f"/{wheel.name}#sha256={hashlib.sha256(content).hexdigest()}"
            page = f'<!DOCTYPE html><html><body><a href="{link}">{wheel.name}</a></body></html>'
            self.answer(200, page.encode(), Content_Type="text/html")
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        half = len(content) // 2
        self.wfile.write(content[:half])
        self.wfile.flush()
        if not self.site.cut:
            self.site.more.wait(60)
            self.wfile.write(content[half:])


class _HubHandler(_Handler):
    site: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.site.asked.append(path)
        parts = path.strip("/").split("/")
        is_api = parts[:2] == ["api", "models"]
        repo = "/".join(parts[2:4] if is_api else parts[:2])
        if self.site.status:
            self.answer(self.site.status)
        elif repo not in self.site.repos:
            self.answer(401, X_Error_Code="RepoNotFound")
        elif is_api:
            self._api(repo, parts[4:])
        else:
            self._resolve(repo, parts[3], "/".join(parts[4:]))

    def _api(self, repo: str, rest: list[str]) -> None:
        if len(rest) == 2 and rest[1] not in ("main", self.site.commit):
            self.answer(404, X_Error_Code="RevisionNotFound")
            return
        files = {path.name: path.stat().st_size for path in sorted(self.site.repos[repo].iterdir())}
        if rest[:1] == ["tree"]:
            table: object = [
                {"type": "file", "path": name, "size": size, "oid": _etag(self.site.repos[repo] / name)}
                for name, size in files.items()
            ]
        else:
            siblings = [{"rfilename": name, "size": size} for name, size in files.items()]
            table = {
                "id": repo,
                "sha": self.site.commit,
                "siblings": siblings,
                "private": False,
                "tags": [],
                "downloads": 0,
            }
        self.answer(200, json.dumps(table).encode(), Content_Type="application/json")

    def _resolve(self, repo: str, revision: str, name: str) -> None:
        file = self.site.repos[repo] / name
        if repo in self.site.gated:
            self.answer(403, X_Error_Code="GatedRepo", X_Error_Message="Access is restricted.")
        elif not file.is_file():
            self.answer(404, X_Error_Code="EntryNotFound")
        else:
            self._send(file)

    def _send(self, file: Path) -> None:
        content, nbytes = file.read_bytes(), file.stat().st_size
        if file.name == self.site.cut and self.command == "GET":
            if self.site.was_cut:
                self.answer(410)
                return
            self.site.was_cut = True
            content = content[: nbytes // 2]
        self.answer(200, content, nbytes, ETag=f'"{_etag(file)}"', X_Repo_Commit=self.site.commit)


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes(), usedforsecurity=False).hexdigest()
