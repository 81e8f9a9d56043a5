"""HTTP/1.1 and the wire protocols of AWS, as far as the endpoint needs them."""

import asyncio
import functools
import json
import struct
import time
import urllib.parse
from xml.sax.saxutils import escape

CBOR_PATH = "/service/GraniteServiceVersion20100801/operation/"
REQUEST_ID = "00000000-0000-4000-8000-000000000000"
CONTENT_TYPES = {
    "cbor": "application/cbor",
    "json": "application/x-amz-json-1.1",
    "rest": "application/json",
    "ec2": "text/xml;charset=UTF-8",
    "query": "text/xml;charset=UTF-8",
}


class Refusal(Exception):
    """An error as AWS reports it."""

    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code = status, code


class Throttled(Refusal):
    """One that passes."""


class Call:
    """A request, recognized by its path, target header or form, and by its SigV4 scope."""

    def __init__(self, method, path, headers, body):
        self.protocol, self.operation = "query", None
        scope = headers.get("authorization", "").partition("Credential=")[2]
        scope = scope.partition(",")[0].split("/")
        self.access_key, _, self.region, self.service = (scope + [""] * 4)[:4]
        target = headers.get("x-amz-target")
        if path.startswith(CBOR_PATH):
            self.protocol, self.operation = "cbor", path[len(CBOR_PATH) :]
            self.request = decode(body, 0)[0] if body else {}
        elif target:
            self.protocol, self.operation = "json", target.rpartition(".")[2]
            self.request = json.loads(body or b"{}")
        elif self.service == "savingsplans":
            self.protocol, self.operation = "rest", path.strip("/")
            self.request = json.loads(body or b"{}")
        else:
            self.request = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
            self.operation = self.request.get("Action")
            self.protocol = "ec2" if self.service == "ec2" else "query"
        service = {"monitoring": "cloudwatch"}.get(self.service, self.service)
        self.name = f"{service}:{self.operation}"

    def listed(self, name):
        """The members of a flattened list: `InstanceType.1`, `InstanceType.2`, …"""
        found, place = [], 1
        while (value := self.request.get(f"{name}.{place}")) is not None:
            found.append(value)
            place += 1
        return found

    def filters(self):
        found, place = {}, 1
        while (name := self.request.get(f"Filter.{place}.Name")) is not None:
            found[name] = self.listed(f"Filter.{place}.Value")
            place += 1
        return found

    def answer(self, body):
        """Bytes, or what the protocol writes as JSON, CBOR or in a query's element."""
        if isinstance(body, bytes):
            return body
        if self.protocol in ("json", "rest"):
            return json.dumps(body).encode()
        return encode(body) if self.protocol == "cbor" else body.encode()

    def refused(self, refusal):
        code, message = refusal.code, str(refusal)
        if self.protocol == "cbor":
            return encode({"__type": f"com.amazonaws.cloudwatch#{code}", "message": message})
        if self.protocol in ("json", "rest"):
            return json.dumps({"__type": code, "message": message}).encode()
        error = f"<Code>{code}</Code><Message>{escape(message)}</Message>"
        if self.protocol == "ec2":
            errors = f"<Errors><Error>{error}</Error></Errors>"
            return f"<Response>{errors}<RequestID>{REQUEST_ID}</RequestID></Response>".encode()
        return (
            f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error>"
            f"<RequestId>{REQUEST_ID}</RequestId></ErrorResponse>"
        ).encode()


def decode(data, at):
    """One item of CBOR, and where the next begins."""
    head = data[at]
    major, info = head >> 5, head & 31
    at += 1
    size = info
    if 24 <= info <= 27:
        width = 1 << (info - 24)
        size = int.from_bytes(data[at : at + width], "big")
        if major == 7:
            plain = data[at : at + width]
            size = struct.unpack({2: ">e", 4: ">f", 8: ">d"}[width], plain)[0]
            return size, at + width
        at += width
    if major == 0:
        return size, at
    if major == 1:
        return -1 - size, at
    if major in (2, 3):
        if info == 31:
            parts = []
            while data[at] != 0xFF:
                part, at = decode(data, at)
                parts.append(part)
            return ("" if major == 3 else b"").join(parts), at + 1
        part = data[at : at + size]
        return (part.decode() if major == 3 else part), at + size
    if major in (4, 5):
        items, left = [], size * (major - 3) if info != 31 else -1
        while left != 0 and not (left < 0 and data[at] == 0xFF):
            # Most items are short texts, and calls take time.
            first = data[at]
            if 0x60 <= first < 0x78:
                item, at = data[at + 1 : at + first - 0x5F].decode(), at + first - 0x5F
            else:
                item, at = decode(data, at)
            items.append(item)
            left -= 1
        at += info == 31
        return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at
    if major == 6:
        return decode(data, at)
    return {20: False, 21: True}.get(info), at


def head(major, size):
    for info, width in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if size < 24:
            return bytes([major << 5 | size])
        if size < 1 << 8 * width:
            return bytes([major << 5 | info]) + size.to_bytes(width, "big")
    raise ValueError(size)


@functools.lru_cache(4096)
def text(item):
    """Names and ids, of which most come again."""
    plain = item.encode()
    return head(3, len(plain)) + plain


def encode(item):
    """CBOR of texts, lists and maps; bytes are an item that is encoded already."""
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return text(item)
    if isinstance(item, list):
        return head(4, len(item)) + b"".join(map(encode, item))
    parts = [encode(part) for pair in item.items() for part in pair]
    return head(5, len(item)) + b"".join(parts)


class Connection(asyncio.Protocol):
    """One connection, kept alive. `respond` takes a call and returns status and body."""

    def __init__(self, respond, latency):
        self.respond, self.latency = respond, latency
        self.data = bytearray()
        self.loop = asyncio.get_running_loop()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.data += data
        while (end := self.data.find(b"\r\n\r\n")) >= 0:
            first, *lines = self.data[:end].decode("latin-1").split("\r\n")
            pairs = (line.partition(":") for line in lines)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            whole = end + 4 + int(headers.get("content-length", 0))
            if len(self.data) < whole:
                return
            body = bytes(self.data[end + 4 : whole])
            del self.data[:whole]
            self.answer(*first.split(" ")[:2], headers, body)

    def answer(self, method, path, headers, body):
        begin = time.monotonic()
        if path == "/_counts":
            self.reply(200, "application/json", "", self.respond(None)[1])
            return
        call = Call(method, path, headers, body)
        status, body, code = self.respond(call)
        extra = ""
        if call.protocol == "cbor":
            extra = "smithy-protocol: rpc-v2-cbor\r\n"
            extra += f"x-amzn-query-error: {code};Sender\r\n" if code else ""
        elif call.protocol == "rest" and code:
            extra = f"x-amzn-errortype: {code}\r\n"
        # The work is part of the latency, as it would be at AWS.
        rest = max(0.0, self.latency - (time.monotonic() - begin))
        kind = CONTENT_TYPES[call.protocol]
        self.loop.call_later(rest, self.reply, status, kind, extra, body)

    def reply(self, status, kind, extra, body):
        if self.transport.is_closing():
            return
        self.transport.writelines(
            [
                f"HTTP/1.1 {status} {'OK' if status == 200 else 'Refused'}\r\n"
                f"content-type: {kind}\r\ncontent-length: {len(body)}\r\n"
                f"x-amzn-requestid: {REQUEST_ID}\r\n{extra}\r\n".encode(),
                body,
            ]
        )
