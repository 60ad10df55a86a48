"""The phone in a web browser and for adb: small servers on loopback; the page is phone.html.

Requests of the page go in (a touch, a key), the screen and its ui tree go out. It listens on 127.0.0.1 only and refuses
requests that another web site might send: a wrong Host or a foreign Origin. adb sees the same phone (sim/adbd).
"""

import contextlib
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from distrl.cli.output import Output
from distrl.core.errors import UserError
from distrl.core.types import Action
from distrl.core.vetting import vetted
from distrl.devices.sim.adbd.server import Adbd
from distrl.runtime.playing import Play

PAGE = Path(__file__).with_name("phone.html")
MAX_BODY = 20_000


class PhoneServer:
    """Answers the page for one phone."""

    def __init__(self, play: Play, port: int, also: Callable[[], contextlib.AbstractAsyncContextManager[None]]) -> None:
        self._play = play
        self._also = also
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"} | ({"127.0.0.1", "localhost"} if port == 80 else set())

    def app(self) -> Starlette:
        """The routes."""
        routes = [
            Route("/", self._page),
            Route("/screen.png", self._screen),
            Route("/status", self._status),
            Route("/act", self._act, methods=["POST"]),
            Route("/restart", self._restart, methods=["POST"]),
            Route("/hint", self._hint, methods=["POST"]),
        ]
        return Starlette(routes=routes, exception_handlers={Exception: _explain}, lifespan=lambda app: self._also())

    def _refusal(self, request: Request) -> Response | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
        if host not in self._hosts or (origin and origin.removeprefix("http://") not in self._hosts):
            return JSONResponse({"error": "only the page of this phone may use it"}, status_code=403)
        return None

    async def _page(self, request: Request) -> Response:
        return self._refusal(request) or HTMLResponse(PAGE.read_text(encoding="utf-8"))

    async def _screen(self, request: Request) -> Response:
        headers = {"Cache-Control": "no-store"}
        return self._refusal(request) or Response(self._play.png(), media_type="image/png", headers=headers)

    async def _status(self, request: Request) -> Response:
        return self._refusal(request) or JSONResponse(self._play.status())

    async def _act(self, request: Request) -> Response:
        refusal = self._refusal(request)
        if refusal:
            return refusal
        body = await _read(request)
        if body is None:
            return JSONResponse({"error": f"more than {MAX_BODY} bytes"}, status_code=413)
        try:
            action = vetted(msgspec.json.decode(body, type=Action), raw="")
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            return JSONResponse({"error": f"not an action: {error}"}, status_code=400)
        self._play.perform(action)
        return JSONResponse(self._play.status())

    async def _restart(self, request: Request) -> Response:
        return await self._changed(request, self._play.restart)

    async def _hint(self, request: Request) -> Response:
        return await self._changed(request, self._play.hint)

    async def _changed(self, request: Request, change: Callable[[], object]) -> Response:
        refusal = self._refusal(request)
        if refusal:
            return refusal
        change()
        return JSONResponse(self._play.status())


async def _explain(request: Request, error: Exception) -> Response:
    """An app of one's own may fail: the page says how, the log has the traceback."""
    return JSONResponse({"error": f"{type(error).__name__}: {error}"}, status_code=500)


async def _read(request: Request) -> bytes | None:
    """A body of bounded size; None if it is larger."""
    body = b""
    with contextlib.suppress(ClientDisconnect):
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                return None
    return body


class Ports(NamedTuple):
    """What is served, and where; None is not, 0 takes a free one."""

    page: int
    adb: int | None = None
    grpc: int | None = None


def serve(play: Play, ports: Ports, *, opens_browser: bool, output: Output) -> None:
    """Serve until interrupted: the page, and adb if wanted. The addresses are printed, the page's opened if wanted."""
    page = _listen(ports.page, "--port")
    adb = None if ports.adb is None else _listen(ports.adb, "--adb")
    address = f"http://127.0.0.1:{page.getsockname()[1]}"
    output.write(address)
    output.note("Click to tap, drag to swipe, type with your keyboard. Ctrl-C stops the phone.")
    if opens_browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    if adb is not None:
        output.write(f"127.0.0.1:{adb.getsockname()[1]}")
        output.note(f"For adb: adb connect 127.0.0.1:{adb.getsockname()[1]}. Ctrl-C stops the phone.")

    @contextlib.asynccontextmanager
    async def serving_adb() -> AsyncIterator[None]:
        adbd = Adbd(play.phone, perform=play.perform)
        if adb is not None:
            await adbd.start(listener=adb)
        try:
            if ports.grpc is None:
                yield
            else:
                async with _grpc(play, ports.grpc, output):
                    yield
        finally:
            await adbd.close()

    server = PhoneServer(play, page.getsockname()[1], serving_adb)
    uvicorn.Server(uvicorn.Config(server.app(), log_level="warning", timeout_graceful_shutdown=2)).run(sockets=[page])


@contextlib.asynccontextmanager
async def _grpc(play: Play, port: int, output: Output) -> AsyncIterator[None]:
    from distrl.devices.sim.emulator_control import EmulatorControl

    control = EmulatorControl(play.phone, perform=play.perform)
    output.write(f"grpc 127.0.0.1:{await control.start(port)}")
    try:
        yield
    finally:
        await control.close()


def _listen(port: int, option: str) -> socket.socket:
    """A socket on loopback; a port that is taken is the user's to change."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        raise UserError(
            f"port {port} on 127.0.0.1 cannot be used ({error.strerror}); {option} 0 takes a free one"
        ) from error
    return listener
