"""What the page can ask of its server."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import polars as pl
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ackclock import AckclockError, Result
from ackclock.draw import html
from ackclock.explore import about, figures, shelf
from ackclock.explore.judge import WHAT
from ackclock.explore.runs import Run, Runs, Source
from ackclock.explore.security import KEPT_CSP, Guard, TooLongError, kept_csp_with, kept_key
from ackclock.explore.worker import HOSTS
from ackclock.hosts.threads import LOCAL
from ackclock.scenario import skeleton

STATIC = Path(__file__).with_name("static")
#: Time between two looks for what has changed, seconds.
LOOK_S = 0.1


class Page:
    """The routes, with what they share."""

    def __init__(self, folder: Path, token: str, hosts: frozenset[str]) -> None:
        self.folder = folder
        self.token = token
        #: Whether the server is about to end.
        self.is_ending: Callable[[], bool] = lambda: False
        self.runs = Runs(folder / "explore")
        routes = [
            Route("/", self.index),
            Route("/api/about", self.about),
            Route("/api/algorithms/{name}", self.source),
            Route("/api/figures", self.figures),
            Route("/api/check", self.check, methods=["POST"]),
            Route("/api/events", self.events),
            Route("/api/runs", self.start, methods=["POST"]),
            Route("/api/judge", self.judge, methods=["POST"]),
            Route("/api/runs/{run}", self.remove, methods=["DELETE"]),
            Route("/api/runs/{run}/cancel", self.cancel, methods=["POST"]),
            Route("/api/runs/{run}/rows", self.rows),
            Route("/api/runs/{run}/samples.csv", self.csv),
            Route("/api/runs/{run}/scenario.toml", self.toml),
            Route("/api/kept", self.kept),
            Route("/api/kept/open", self.open, methods=["POST"]),
            Route("/kept/{key}/{path:path}", self.file),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
        handlers: dict[Any, Any] = {AckclockError: _mistake, TooLongError: _too_long}
        app = Starlette(routes=routes, exception_handlers=handlers)
        self.app = Guard(app, token, hosts)

    async def index(self, _: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def about(self, _: Request) -> Response:
        """Algorithms with their parameters, their colours, the gallery, what the kernel can."""
        return JSONResponse(await run_in_threadpool(about.told))

    async def source(self, request: Request) -> Response:
        """The C file of a built-in algorithm."""
        name = request.path_params["name"]
        return PlainTextResponse(await run_in_threadpool(skeleton.source, name))

    async def figures(self, _: Request) -> Response:
        """The papers' figures with their claims."""
        return JSONResponse(await run_in_threadpool(figures.told))

    async def check(self, request: Request) -> Response:
        """The fields of a scenario, or what is wrong with it."""
        source = _source(await _json(request))

        def checked() -> dict[str, Any]:
            scenario = self.runs.check(source)
            fields = scenario.given
            return {"fields": fields, "toml": scenario.to_toml()}

        return JSONResponse(await run_in_threadpool(checked))

    async def start(self, request: Request) -> Response:
        asked = await _json(request)
        source = _source(asked)
        await run_in_threadpool(HOSTS[source.on].ready)
        run = await run_in_threadpool(self.runs.start, source, str(asked.get("title", ""))[:80])
        return JSONResponse({"id": run.id})

    async def judge(self, request: Request) -> Response:
        """Starts a scorecard or an attack."""
        asked = await _json(request)
        source, what = _source(asked), asked.get("judge")
        if what not in WHAT:
            raise HTTPException(400, f"judge: choose from {', '.join(WHAT)}")
        run = await run_in_threadpool(
            self.runs.judge, what, source, str(asked.get("title", ""))[:80]
        )
        return JSONResponse({"id": run.id})

    async def cancel(self, request: Request) -> Response:
        await run_in_threadpool(self.runs.cancel, self._run(request))
        return JSONResponse({})

    async def remove(self, request: Request) -> Response:
        await run_in_threadpool(self.runs.remove, self._run(request))
        return JSONResponse({})

    async def events(self, _: Request) -> Response:
        """Server-sent events: what has changed in the runs, ten times a second."""
        return StreamingResponse(self._changes(), media_type="text/event-stream")

    async def _changes(self) -> AsyncIterator[str]:
        seen, quiet = -1, 0.0
        while not self.is_ending():
            version, changed, ids = self.runs.changes(seen)
            if version != seen:
                text = json.dumps({"changed": changed, "ids": ids})
                yield f"data: {text}\n\n"
                seen, quiet = version, 0.0
            elif quiet > 15:
                yield ": nothing new\n\n"
                quiet = 0.0
            await asyncio.sleep(LOOK_S)
            quiet += LOOK_S

    async def rows(self, request: Request) -> Response:
        """What a run drew, from a byte on: the messages of `worker.write`."""
        run, start = self._run(request), request.query_params.get("from", "")
        if not (start.isascii() and start.isdigit()):
            raise HTTPException(400, "from: write the number of a byte")
        with self.runs.lock:
            return Response(bytes(run.drawn[int(start) :]), media_type="application/octet-stream")

    async def csv(self, request: Request) -> Response:
        """The samples of a finished run."""
        run = self._run(request)
        kept = run.end.get("kept")
        if kept is None:
            raise HTTPException(409, "the run has not finished")
        result = await run_in_threadpool(Result.load, kept)
        return PlainTextResponse(
            await run_in_threadpool(_csv, result),
            media_type="text/csv",
            headers={"Content-Disposition": f'attachment; filename="{run.id}-samples.csv"'},
        )

    async def toml(self, request: Request) -> Response:
        run = self._run(request)
        return PlainTextResponse(
            run.source.toml,
            headers={"Content-Disposition": f'attachment; filename="{run.id}.toml"'},
        )

    async def kept(self, _: Request) -> Response:
        """What is kept. `key` stands in the address of an entry's page."""
        found = await run_in_threadpool(shelf.listed, self.folder)
        return JSONResponse([each | {"key": kept_key(self.token, each["path"])} for each in found])

    async def open(self, request: Request) -> Response:
        """Opens a kept run beside the others."""
        body = await _json(request)
        path = str(body.get("path", ""))
        directory = shelf.inside(self.folder, path)
        if directory is None or not (directory / "samples.parquet").is_file():
            raise HTTPException(404, "no such run")
        title = str(body.get("title") or Path(path).name)[:80]
        run = await run_in_threadpool(self.runs.open, directory, title)
        return JSONResponse({"id": run.id})

    async def file(self, request: Request) -> Response:
        """A file of a kept figure, sweep or scorecard.

        Its page can run no script but ours, which zooms into curves.
        """
        path = request.path_params["path"]
        found = shelf.inside(self.folder, path)
        if found is not None and found.is_file() and found.name == html.ZOOM:
            return PlainTextResponse(
                await run_in_threadpool(html.script), media_type="text/javascript"
            )
        if found is None or not found.is_file() or found.suffix not in shelf.SERVED:
            raise HTTPException(404, "no such file in the results' folder")
        policy = KEPT_CSP
        if found.suffix == ".html" and found.with_name(html.ZOOM).is_file():
            policy = kept_csp_with(str(request.url.replace(query="", fragment="")), html.ZOOM)
        return FileResponse(
            found,
            media_type=shelf.SERVED[found.suffix],
            headers={"Content-Security-Policy": policy},
        )

    def _run(self, request: Request) -> Run:
        run = self.runs.get(request.path_params["run"])
        if run is None:
            raise HTTPException(404, "no such run")
        return run


async def _json(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise HTTPException(415, "send JSON")
    try:
        asked = json.loads(await request.body())
        json.dumps(asked, ensure_ascii=False).encode()  # half a character is in no file
    except (ValueError, RecursionError):
        raise HTTPException(400, "not JSON") from None
    if not isinstance(asked, dict):
        raise HTTPException(400, "send an object")
    return asked


def _source(asked: dict[str, Any]) -> Source:
    toml, files, on = asked.get("toml", 0), asked.get("files", {}), asked.get("on", LOCAL.name)
    if (
        not isinstance(toml, str)
        or not isinstance(files, dict)
        or not all(isinstance(each, str) for each in files.values())
        or on not in HOSTS
    ):
        raise HTTPException(400, "write toml, files and on")
    return Source(toml, dict(sorted(files.items())), on)


async def _mistake(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 422)


async def _too_long(_: Request, __: Exception) -> Response:
    return PlainTextResponse("the body is too long", 413)


def _csv(result: Result) -> str:
    return result.samples.with_columns(pl.col("state").cast(str)).write_csv()
