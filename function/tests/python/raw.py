"""HTTP/2 by hand, for the one thing that no gRPC client does: stopping in the middle of a unary request.

Frames and headers are those of hyperframe and hpack. Their usual companion h2 is of no use here, because it ends
a connection at the first GOAWAY, and what comes after it is what we want to see.
"""

import os
import signal
import socket
import ssl
import tempfile
import time

from hpack import Decoder, Encoder
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, PingFrame, SettingsFrame

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STREAM = 1
PING = b"in order"


class Connection:
    def __init__(self, job):
        host, port = job["target"].rsplit(":", 1)
        self.socket = encrypted(job["tls"], socket.create_connection((host, int(port)), job["seconds"]), host)
        self.host = host
        self.headers = Decoder()
        self.socket.sendall(PREFACE)
        self.send(SettingsFrame(0))

    def send(self, frame):
        self.socket.sendall(frame.serialize())

    def open(self, path):
        fields = [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", self.host),
            (":path", path),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ]
        self.send(HeadersFrame(STREAM, Encoder().encode(fields), flags=["END_HEADERS"]))

    def read(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                return None
            data += more
        return data

    def frames(self):
        """Frames until the server closes the connection, answering what a peer must answer."""
        while (head := self.read(9)) is not None:
            frame, size = Frame.parse_frame_header(memoryview(head))
            frame.parse_body(memoryview(self.read(size)))
            if isinstance(frame, SettingsFrame) and "ACK" not in frame.flags:
                self.send(SettingsFrame(0, flags=["ACK"]))
            elif isinstance(frame, PingFrame) and "ACK" not in frame.flags:
                self.send(PingFrame(0, frame.opaque_data, flags=["ACK"]))
            yield frame

    def until(self, wanted):
        for frame in self.frames():
            if wanted(frame):
                return frame
        raise SystemExit("the server closed the connection too early")


def encrypted(tls, plain, host):
    context = ssl.create_default_context(cadata=tls["ca"])
    context.set_alpn_protocols(["h2"])
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as both:  # only files are taken
        both.write(tls["cert"] + tls["key"])
        both.flush()
        context.load_cert_chain(both.name)
    return context.wrap_socket(plain, server_hostname=host)


def in_flight(job, path, message):
    connection = Connection(job)
    body = b"\0" + len(message).to_bytes(4, "big") + message
    half = len(body) // 2
    connection.open(path)
    connection.send(DataFrame(STREAM, body[:half]))
    # Frames are handled in order: the answer to this one says that the call has begun.
    connection.send(PingFrame(0, PING))
    connection.until(lambda f: isinstance(f, PingFrame) and "ACK" in f.flags and f.opaque_data == PING)
    told = time.monotonic()
    os.kill(job["pid"], signal.SIGTERM)
    # The server's own word that it is ending. Only then does the call go on.
    connection.until(lambda f: isinstance(f, GoAwayFrame))
    happened = {"fields": {}}
    if job["finish"]:
        connection.send(DataFrame(STREAM, body[half:], flags=["END_STREAM"]))
    data, last = b"", None
    for frame in connection.frames():
        if isinstance(frame, HeadersFrame):
            happened["fields"] |= dict(connection.headers.decode(frame.data))
        elif isinstance(frame, DataFrame):
            data += frame.data
        elif isinstance(frame, GoAwayFrame):
            last = frame
    # The loop ends because the server has closed the connection.
    happened["seconds"] = time.monotonic() - told
    happened["last"] = last and {"stream": last.last_stream_id, "error": last.error_code}
    if data:
        happened["message"] = data[5:]
    return happened
