"""Tests of `mase_serve.app`: the address to which a server binds."""

import asyncio
import socket

import pytest

pytest.importorskip("uvicorn")

from mase.errors import OptionError
from mase_serve import app as server


@pytest.mark.parametrize("host", ["a..b", "no-such-host.invalid", f"{'x' * 70}.org"])
def test_an_address_that_no_machine_has_is_refused(host):
    with pytest.raises(OptionError, match=rf"the address {host}, port 0, cannot be used .* one of this machine"):
        server.bind(host, 0, 8765)


@pytest.mark.parametrize("reuses", [True, False])
def test_a_port_is_used_again_where_the_system_allows_no_second_server(reuses, monkeypatch):
    monkeypatch.setattr(server, "reuses_addresses", lambda: reuses)
    with server.bind("127.0.0.1", 0, 8765) as listening:
        assert bool(listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)) == reuses


def test_a_taken_port_is_replaced_by_a_free_one():
    with server.bind("127.0.0.1", 0, 8765) as first:
        taken = first.getsockname()[1]
        with server.bind("127.0.0.1", None, taken) as second:
            assert second.getsockname()[1] not in (0, taken)
        with pytest.raises(OptionError, match=f"port {taken}, cannot be used"):
            server.bind("127.0.0.1", taken, 8765)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"], ids=["nothing", "half a head"])
@pytest.mark.slow
def test_a_client_that_asks_for_nothing_does_not_keep_its_connection(sent):
    gone = asyncio.Event()

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            for event in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{event}.complete"})
            return
        await gone.wait()  # a request under way is not cut off meanwhile
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    async def scenario():
        with server.bind("127.0.0.1", 0, 8765) as listening:
            running = server.Server(app, head_s=1.0)
            task = asyncio.create_task(running.serve(sockets=[listening]))
            asking, to_ask = await asyncio.open_connection(*listening.getsockname())
            to_ask.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            idle, to_idle = await asyncio.open_connection(*listening.getsockname())
            to_idle.write(sent)
            assert await asyncio.wait_for(idle.read(), 60) == b""
            gone.set()
            assert await asyncio.wait_for(asking.readline(), 60) == b"HTTP/1.1 204 No Content\r\n"
            for writer in (to_ask, to_idle):
                writer.close()
            running.should_exit = True
            await task

    asyncio.run(scenario())


def test_idle_connections_of_a_crowd_make_room(monkeypatch):
    monkeypatch.setattr(server, "_CONNECTIONS", 8)

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            for event in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{event}.complete"})
            return
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    async def scenario():
        with server.bind("127.0.0.1", 0, 8765) as listening:
            running = server.Server(app, head_s=600.0)
            task = asyncio.create_task(running.serve(sockets=[listening]))
            crowd = [await asyncio.open_connection(*listening.getsockname()) for _ in range(8)]
            reading = [asyncio.create_task(reader.read()) for reader, _ in crowd]
            for _ in range(600):
                await asyncio.sleep(0.1)
                if sum(one.done() for one in reading) == 4:
                    break
            owner, to_owner = await asyncio.open_connection(*listening.getsockname())
            to_owner.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await asyncio.wait_for(owner.readline(), 60) == b"HTTP/1.1 204 No Content\r\n"
            assert sum(one.done() for one in reading) >= 4
            for one in reading:
                one.cancel()
            for _, writer in (*crowd, (owner, to_owner)):
                writer.close()
            running.should_exit = True
            await task

    asyncio.run(scenario())
