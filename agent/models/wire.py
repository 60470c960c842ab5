"""Bounds on the HTTP beneath litellm: bytes and seconds of one attempt, and a count of attempts.

litellm's time-outs are per read, so that a server which sends a byte now and then never runs into
one, and it reads whatever is sent. Every asynchronous client that litellm makes of its own goes
through one transport, which is replaced by one that keeps to the `Bounds` of the request at work.
Providers reached through a vendor's own client (boto3) are bounded in time alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
from litellm.llms.custom_httpx import aiohttp_transport

from agent.models.bounds import Bounds, bounds_of_request


class BoundedTransport(aiohttp_transport.LiteLLMAiohttpTransport):
    """litellm's transport, within the bounds of the request that it works for."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        bounds = bounds_of_request.get()
        if bounds is None:
            return await super().handle_async_request(request)
        if bounds.too_large:
            raise httpx.ReadError("the reply is too large", request=request)
        bounds.made += 1
        bounds.status, bounds.whole = 0, False
        until = asyncio.get_running_loop().time() + bounds.attempt_s
        # A small compressed body can be an enormous one.
        request.headers["Accept-Encoding"] = "identity"
        try:
            async with asyncio.timeout_at(until):
                response = await super().handle_async_request(request)
        except TimeoutError:
            raise _too_slow(request) from None
        except (httpx.ConnectError, httpx.ConnectTimeout):
            bounds.unbilled += 1
            raise
        bounds.status = response.status_code
        if 300 <= response.status_code < 500 and response.status_code != 408:
            bounds.unbilled += 1
        if response.headers.get("Content-Encoding", "identity") != "identity":
            await response.aclose()
            bounds.whole = True
            raise httpx.ReadError("the reply is compressed, against the request", request=request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        stream = _BoundedStream(response.stream, request, bounds, until)
        return httpx.Response(
            response.status_code, headers=response.headers, stream=stream, request=request
        )


class _BoundedStream(httpx.AsyncByteStream):
    def __init__(
        self, inner: httpx.AsyncByteStream, request: httpx.Request, bounds: Bounds, until: float
    ) -> None:
        self._inner, self._request = inner, request
        self._bounds, self._until = bounds, until

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._inner)
        read = 0
        while True:
            try:
                async with asyncio.timeout_at(self._until):
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                self._bounds.whole = True
                return
            except TimeoutError:
                raise _too_slow(self._request) from None
            read += len(chunk)
            if read > self._bounds.most_bytes:
                self._bounds.too_large = True
                raise httpx.ReadError("the reply is too large", request=self._request)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _too_slow(request: httpx.Request) -> httpx.ReadTimeout:
    return httpx.ReadTimeout("the whole reply took too long", request=request)


def install() -> None:
    """Make litellm use the bounded transport for every client that it makes from now on."""
    aiohttp_transport.LiteLLMAiohttpTransport = BoundedTransport
