"""Drives the function with Crossplane's own SDK for Python: its generated messages and stubs, over gRPC's own client.

One job comes in on standard input as JSON, what happened goes out on standard output. Nothing is judged here:
that is done by tests/sdk_client.rs, which says what it expects.
"""

import base64
import importlib
import json
import sys
import time

import grpc
from google.protobuf import json_format
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

import raw

OPTIONS = [
    # Each channel makes its own connection: one of an earlier attempt must not answer for this one.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    # As the caller has it: requests of any size, responses of 4 MiB.
    ("grpc.max_send_message_length", -1),
]


def sdk(version):
    package = f"crossplane.function.proto.{version}.run_function_pb2"
    return importlib.import_module(package), importlib.import_module(package + "_grpc")


def text(data):
    return base64.b64encode(data).decode()


def connect(job):
    tls = job["tls"]
    if tls is None:
        return grpc.insecure_channel(job["target"], OPTIONS)
    ca, cert, key = (tls[part] and tls[part].encode() for part in ("ca", "cert", "key"))
    return grpc.secure_channel(job["target"], grpc.ssl_channel_credentials(ca, key, cert), OPTIONS)


class Tap:
    """A channel for a generated stub that keeps the bytes of each response beside the message."""

    def __init__(self, channel):
        self.channel = channel

    def unary_unary(self, method, request_serializer, response_deserializer, **more):
        return self.channel.unary_unary(
            method,
            request_serializer=serialize,
            response_deserializer=lambda data: (data, response_deserializer(data)),
            **more,
        )


def parse(request, message):
    """A request in protobuf's JSON, or serialized."""
    if isinstance(request, str):
        return message.FromString(base64.b64decode(request))
    return json_format.ParseDict(request, message())


def serialize(message):
    """Sorted maps, so that the job knows which bytes were sent."""
    return message.SerializeToString(deterministic=True)


def view(message):
    return json_format.MessageToDict(message, preserving_proto_field_name=True, use_integers_for_enums=True)


def call(job, channel, version):
    """All requests at once on one connection."""
    messages, grpc_code = sdk(version)
    stub = grpc_code.FunctionRunnerServiceStub(Tap(channel))
    requests = [parse(request, messages.RunFunctionRequest) for request in job["requests"]]
    start = time.monotonic()
    calls = [stub.RunFunction.future(request, timeout=job["seconds"]) for request in requests]
    results = []
    for request, running in zip(requests, calls):
        result = {"request": text(serialize(request))}
        try:
            data, message = running.result()
            result |= {"code": "OK", "response": text(data), "view": view(message)}
        except grpc.RpcError as error:
            result |= {"code": error.code().name, "details": error.details()}
        results.append(result | {"seconds": time.monotonic() - start})
    return results


def calls(job):
    """For each version what came of each request, until the first one is answered if that is asked for."""
    deadline = time.monotonic() + job.get("until_ok_seconds", 0)
    while True:
        with connect(job) as channel:
            results = {version: call(job, channel, version) for version in job["versions"]}
        answered = all(result[0]["code"] == "OK" for result in results.values())
        if answered or time.monotonic() >= deadline:
            return results
        time.sleep(0.05)


def health(job):
    with connect(job) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        results = {}
        for service in job["services"]:
            try:
                answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=job["seconds"])
                status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
            except grpc.RpcError as error:
                status = error.code().name
            results[service] = status
        return results


def reflection(job):
    """Services, and the file that defines each symbol asked for, over both versions of reflection."""
    ask = reflection_pb2.ServerReflectionRequest
    requests = [ask(list_services="")] + [ask(file_containing_symbol=s) for s in job["symbols"]]
    results = {}
    with connect(job) as channel:
        for version in ("v1", "v1alpha"):  # the same messages in another package
            method = channel.stream_stream(
                f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                request_serializer=ask.SerializeToString,
                response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
            )
            services, *files = method(iter(requests), timeout=job["seconds"])
            results[version] = {
                "services": [service.name for service in services.list_services_response.service],
                "files": [text(f) for r in files for f in r.file_descriptor_response.file_descriptor_proto],
            }
    return results


def descriptors(job):
    return {version: text(sdk(version)[0].DESCRIPTOR.serialized_pb) for version in job["versions"]}


def ending(job):
    """A call that is in flight while the server is told to end; the second half of it only if `finish`."""
    messages, _ = sdk("v1")
    request = parse(job["requests"][0], messages.RunFunctionRequest)
    service = messages.DESCRIPTOR.services_by_name["FunctionRunnerService"]
    happened = raw.in_flight(job, f"/{service.full_name}/RunFunction", serialize(request))
    happened["request"] = text(serialize(request))
    if (data := happened.pop("message", None)) is not None:
        happened |= {"response": text(data), "view": view(messages.RunFunctionResponse.FromString(data))}
    return happened


if __name__ == "__main__":
    JOBS = {f.__name__: f for f in (calls, health, reflection, descriptors, ending)}
    work = json.load(sys.stdin)
    json.dump(JOBS[work["do"]](work), sys.stdout)
