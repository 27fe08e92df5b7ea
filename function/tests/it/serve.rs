//! The server as its clients see it: real sockets, real TLS, an injected function.

pub mod harness;
mod limits;
pub mod pki;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use function_testplatform::serve::{self, MAX_RESPONSE_BYTES, Security, Server};
use harness::{
    PATIENCE, Running, call, call_v1beta1, channel, config, echo, eventually, function, get, mutual, start,
    tagged,
};
use pki::{Authority, Leaf, publish};
use prost::{Message as _, bytes::Bytes};
use serde_json::json;
use tempfile::TempDir;
use testplatform_composites::sdk::{
    proto::{
        Condition, Resource, Result as FunctionResult, RunFunctionRequest, RunFunctionResponse, Severity,
        State,
    },
    wire,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tonic::{Code, IntoRequest as _, Status, codegen::http::uri::PathAndQuery};

/// A server with certificates, and the authority of both sides.
async fn encrypted() -> (Running, Authority, TempDir) {
    let (authority, dir) = (Authority::new(), TempDir::new().unwrap());
    publish(dir.path(), "1", &authority.server(), &authority.pem());
    (start(mutual(dir.path()), echo()).await, authority, dir)
}

async fn call_once(server: &Running, authority: &Authority, leaf: Option<&Leaf>) -> Result<(), Status> {
    call(&channel(server.address, Some(authority.dial(leaf))), tagged("t")).await.map(drop)
}

async fn insecure(function: function_testplatform::serve::Function) -> Running {
    start(config(Security::Insecure), function).await
}

/// A request with everything that must come back as it is.
fn foreign() -> RunFunctionRequest {
    // Unsorted keys, a field nobody knows, a key with an explicitly empty value: bytes of another encoder.
    let unsorted = [
        wire::to_struct(&json!({"z": 1.5})).unwrap(),
        wire::to_struct(&json!({"a": [null, {"b": "c"}]})).unwrap(),
    ];
    let mut other = Resource { resource: unsorted.concat().into(), ..Resource::default() }.encode_to_vec();
    other.extend(b"\x12\x05\x0a\x01k\x12\x00\x7a\x03new");
    RunFunctionRequest {
        desired: Some(State {
            composite: Some(Resource { resource: unsorted.concat().into(), ..Resource::default() }),
            resources: BTreeMap::from([("other".to_owned(), other.into()), (String::new(), Bytes::new())]),
        }),
        context: Some(unsorted.concat().into()),
        ..tagged("tag")
    }
}

#[tokio::test]
async fn both_versions_answer_alike_and_pass_foreign_bytes_through() {
    let (server, authority, _dir) = encrypted().await;
    let channel = channel(server.address, Some(authority.dial(Some(&authority.client()))));
    let one = call(&channel, foreign()).await.unwrap();
    let other = call_v1beta1(&channel, foreign()).await.unwrap();
    assert_eq!(one.encode_to_vec(), other.encode_to_vec());
    assert_eq!((one.desired, one.context), (foreign().desired, foreign().context));
    assert_eq!(one.meta.unwrap().tag, "tag");
}

#[tokio::test]
async fn a_chain_like_crossplanes_with_an_rsa_key_is_accepted() {
    let (authority, dir) = (Authority::new(), TempDir::new().unwrap());
    publish(dir.path(), "1", &authority.rsa_server(), &authority.pem());
    let server = start(mutual(dir.path()), echo()).await;
    call_once(&server, &authority, Some(&authority.client())).await.unwrap();
}

#[tokio::test]
async fn clients_without_a_good_certificate_are_refused() {
    let (server, authority, _dir) = encrypted().await;
    let (stranger, expired) = (Authority::new().client(), authority.expired_client());
    for leaf in [None, Some(&stranger), Some(&expired)] {
        call_once(&server, &authority, leaf).await.unwrap_err();
    }
    // A server certificate is not one for clients.
    call_once(&server, &authority, Some(&authority.server())).await.unwrap_err();
    eventually("failures are counted", async || {
        server.metric("testplatform_function_tls_handshake_failures_total") >= Some(4.0)
    })
    .await;
    call_once(&server, &authority, Some(&authority.client())).await.unwrap();
}

#[tokio::test]
async fn plain_text_on_the_tls_port_is_refused_at_once() {
    let (server, _authority, _dir) = encrypted().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE / 4, stream.read_to_end(&mut answer)).await.expect("the connection is closed");
    assert!(answer.len() < 16, "at most a TLS alert: {answer:?}");
}

#[tokio::test]
async fn silent_client_delays_nobody() {
    let (server, authority, _dir) = encrypted().await;
    let _silent = TcpStream::connect(server.address).await.unwrap();
    timeout(PATIENCE / 4, call_once(&server, &authority, Some(&authority.client()))).await.unwrap().unwrap();
}

#[tokio::test]
async fn certificates_are_rotated_without_a_restart() {
    let (server, old, dir) = encrypted().await;
    let (old_client, new) = (old.client(), Authority::new());
    let open = channel(server.address, Some(old.dial(Some(&old_client))));
    call(&open, tagged("before")).await.unwrap();

    publish(dir.path(), "2", &new.server(), &new.pem());
    let new_client = new.client();
    eventually("the new authority is accepted", async || {
        call_once(&server, &new, Some(&new_client)).await.is_ok()
    })
    .await;
    // Trusts the new server, but is signed by the old authority.
    call_once(&server, &new, Some(&old_client)).await.unwrap_err();
    call(&open, tagged("an open connection goes on")).await.unwrap();
    assert_eq!(
        server.metric("testplatform_function_tls_certificate_loads_total{outcome=\"success\"}"),
        Some(1.0)
    );

    let garbage = Leaf { certificate: "-----BEGIN".into(), key: String::new() };
    publish(dir.path(), "3", &garbage, "");
    eventually("the garbage is looked at, and the last good certificates are kept", async || {
        call_once(&server, &new, Some(&new_client)).await.unwrap();
        server.metric("testplatform_function_tls_certificate_loads_total{outcome=\"failure\"}") == Some(1.0)
    })
    .await;

    // A key of another certificate, as in a half-written directory.
    publish(dir.path(), "4", &Leaf { key: old.server().key, ..new.server() }, &new.pem());
    eventually("a pair that does not match is not taken", async || {
        call_once(&server, &new, Some(&new_client)).await.unwrap();
        server.metric("testplatform_function_tls_certificate_loads_total{outcome=\"failure\"}") == Some(2.0)
    })
    .await;
}

/// A kubelet swaps the files of a Secret all at once, and nobody reads three files all at once.
#[tokio::test]
async fn certificates_that_change_during_start_are_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let authorities = [Authority::new(), Authority::new()];
    let versions = authorities.each_ref().map(|authority| (authority.server(), authority.pem()));
    let [(leaf, authority), _] = &versions;
    publish(dir.path(), "0", leaf, authority);
    let started = Arc::new(AtomicBool::new(false));
    let rotating = {
        let (started, path) = (Arc::clone(&started), dir.path().to_owned());
        thread::spawn(move || {
            for (version, (leaf, authority)) in (1..).zip(versions.iter().cycle()) {
                if started.load(Ordering::Relaxed) {
                    return;
                }
                publish(&path, &version.to_string(), leaf, authority);
            }
        })
    };
    let mut refused = Vec::new();
    for _ in 0..200 {
        refused.extend(Server::bind(mutual(dir.path()), echo()).await.err().map(|error| error.to_string()));
    }
    started.store(true, Ordering::Relaxed);
    rotating.join().unwrap();
    assert!(refused.is_empty(), "{} of 200 times: {:?}", refused.len(), refused.first());
}

#[tokio::test]
async fn request_over_the_limit_is_refused() {
    let mut small = config(Security::Insecure);
    small.max_recv_message_size = 1024 * 1024;
    let server = start(small, function(|_| RunFunctionResponse::default())).await;
    let channel = channel(server.address, None);
    let request = |bytes| RunFunctionRequest { input: Some(vec![0; bytes].into()), ..tagged("t") };
    let status = call(&channel, request(2 * 1024 * 1024)).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("--max-recv-message-size"), "{}", status.message());
    call(&channel, request(1000 * 1024)).await.unwrap();

    let handled = |code: &str| {
        server.metric(&format!(
            "grpc_server_handled_total{{grpc_type=\"unary\",grpc_service=\"apiextensions.fn.proto.v1.\
             FunctionRunnerService\",grpc_method=\"RunFunction\",grpc_code=\"{code}\"}}"
        ))
    };
    eventually("both are counted", async || {
        (handled("OK"), handled("ResourceExhausted")) == (Some(1.0), Some(1.0))
    })
    .await;
}

#[tokio::test]
async fn a_request_larger_than_grpcs_default_is_accepted() {
    let server = insecure(function(|_| RunFunctionResponse::default())).await;
    let request = RunFunctionRequest { input: Some(vec![0; 5 * 1024 * 1024].into()), ..tagged("t") };
    call(&channel(server.address, None), request).await.unwrap();
}

#[tokio::test]
async fn a_panic_becomes_a_fatal_that_changes_nothing() {
    let server =
        insecure(function(|request| panic!("do not repeat {}", request.meta.as_ref().unwrap().tag))).await;
    let response = call(&channel(server.address, None), foreign()).await.unwrap();
    let [result] = response.results.as_slice() else { panic!("one result: {:?}", response.results) };
    assert_eq!(result.severity(), Severity::Fatal);
    assert!(result.message.starts_with("internal error: "), "{}", result.message);
    assert!(!result.message.contains("repeat"), "{}", result.message);
    assert_eq!((response.desired, response.context), (foreign().desired, foreign().context));
    assert_eq!(response.meta.unwrap().tag, "tag");
    assert_eq!(server.metric("testplatform_function_panics_total"), Some(1.0));
    assert_eq!(server.metric("testplatform_function_results_total{severity=\"fatal\"}"), Some(1.0));
    // The server is as good as before.
    call(&channel(server.address, None), tagged("again")).await.unwrap();
}

fn of_size(bytes: usize) -> RunFunctionResponse {
    RunFunctionResponse {
        desired: Some(State {
            resources: BTreeMap::from([("huge".into(), vec![0; bytes].into())]),
            ..State::default()
        }),
        conditions: vec![Condition {
            r#type: "ClusterReady".into(),
            reason: "Ready".into(),
            ..Condition::default()
        }],
        results: vec![FunctionResult { message: "dropped".into(), ..FunctionResult::default() }],
        ..RunFunctionResponse::default()
    }
}

#[tokio::test]
async fn a_response_that_crossplane_cannot_receive_becomes_a_fatal() {
    let server = insecure(function(|_| of_size(MAX_RESPONSE_BYTES))).await;
    let composite = json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster", "metadata": { "name": "x" }, "spec": {},
        "status": { "conditions": [
            { "type": "ClusterReady", "status": "False", "reason": "Provisioning", "message": "the cluster is being created",
              "lastTransitionTime": "2026-11-21T10:00:00Z" },
        ] },
    });
    let composite = Resource { resource: wire::to_struct(&composite).unwrap(), ..Resource::default() };
    let observed = Some(State { composite: Some(composite), ..State::default() });
    let request = RunFunctionRequest { observed, ..foreign() };
    let response = call(&channel(server.address, None), request).await.unwrap();
    let [result] = response.results.as_slice() else { panic!("one result: {:?}", response.results) };
    assert_eq!(result.severity(), Severity::Fatal);
    let size = of_size(MAX_RESPONSE_BYTES).encoded_len().to_string();
    assert!(result.message.contains(&size) && result.message.contains("4194304"), "{}", result.message);
    assert_eq!((response.desired, response.context), (foreign().desired, foreign().context));
    // The answer repeats the shown condition. The new one would report things that were not done: existing credentials, for example.
    let [condition] = response.conditions.as_slice() else { panic!("{:?}", response.conditions) };
    assert_eq!((condition.r#type.as_str(), condition.reason.as_str()), ("ClusterReady", "Provisioning"));
}

#[test]
fn the_limit_itself_is_still_sent() {
    let room = 2 * MAX_RESPONSE_BYTES - of_size(MAX_RESPONSE_BYTES).encoded_len();
    assert_eq!(of_size(room).encoded_len(), MAX_RESPONSE_BYTES);
    let answer = function(move |_| of_size(room)).answer(&foreign());
    assert_eq!(answer, of_size(room));
    let answer = function(move |_| of_size(room + 1)).answer(&foreign());
    assert_eq!(answer.results[0].severity(), Severity::Fatal);
}

#[test]
fn a_fatal_fits_even_when_the_request_does_not() {
    let request = RunFunctionRequest { desired: of_size(MAX_RESPONSE_BYTES).desired, ..tagged("tag") };
    let answer = echo().answer(&request);
    assert!(answer.encoded_len() <= MAX_RESPONSE_BYTES);
    assert_eq!((answer.results[0].severity(), answer.desired), (Severity::Fatal, None));
}

/// A function that says when it is called and answers when it is told to.
fn slow() -> (function_testplatform::serve::Function, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (called, calls) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let function = function(move |_| {
        let _ = called.send(());
        let _ = gate.lock().unwrap().recv();
        of_size(1)
    });
    (function, calls, go)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_in_flight_is_finished_before_the_end() {
    let (function, calls, go) = slow();
    let server = insecure(function).await;
    let (address, admin) = (server.address, server.admin);
    assert!(server.get("/readyz").await.starts_with("HTTP/1.1 200"));
    let in_flight = tokio::spawn(async move { call(&channel(address, None), tagged("t")).await });
    tokio::task::block_in_place(|| calls.recv_timeout(PATIENCE)).unwrap();

    let done = server.shut_down();
    eventually("not ready any more", async || {
        get(admin, "/readyz").await.is_ok_and(|answer| answer.starts_with("HTTP/1.1 503"))
    })
    .await;
    assert!(get(admin, "/healthz").await.unwrap().starts_with("HTTP/1.1 200"));
    eventually("nobody is let in any more", async || TcpStream::connect(address).await.is_err()).await;
    assert!(!done.is_finished());

    go.send(()).unwrap();
    assert_eq!(in_flight.await.unwrap().unwrap(), of_size(1));
    timeout(PATIENCE / 2, done).await.expect("the end comes with the last call").unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_end_does_not_wait_for_ever() {
    let (function, calls, go) = slow();
    let mut impatient = config(Security::Insecure);
    impatient.shutdown_timeout = Duration::from_millis(100);
    let server = start(impatient, function).await;
    let address = server.address;
    let in_flight = tokio::spawn(async move { call(&channel(address, None), tagged("t")).await });
    tokio::task::block_in_place(|| calls.recv_timeout(PATIENCE)).unwrap();
    timeout(PATIENCE / 2, server.shut_down()).await.expect("ends in spite of the call").unwrap().unwrap();
    go.send(()).unwrap();
    in_flight.abort();
}

#[tokio::test]
async fn old_connection_gets_goaway() {
    let mut aging = config(Security::Insecure);
    aging.max_connection_age = Some(Duration::from_millis(100));
    let server = start(aging, echo()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let go_away = async {
        loop {
            let mut header = [0; 9];
            stream.read_exact(&mut header).await.unwrap();
            let mut payload = vec![0; u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize];
            stream.read_exact(&mut payload).await.unwrap();
            if header[3] == 7 {
                return payload;
            }
        }
    };
    let payload = timeout(PATIENCE, go_away).await.unwrap();
    assert_eq!(payload[4..8], [0; 4], "NO_ERROR: finish what you have, and come again");
    // A client that comes again, several times meanwhile, is served. Calls that it had not sent at the GOAWAY
    // fail in tonic's client, where grpc-go sends them on the next connection.
    let (channel, start) = (channel(server.address, None), Instant::now());
    while start.elapsed() < Duration::from_millis(500) {
        if let Err(status) = call(&channel, tagged("t")).await {
            assert_eq!(status.message(), "operation was canceled");
            call(&channel, tagged("t")).await.unwrap();
        }
    }
}

#[tokio::test]
async fn admin_port() {
    let server = insecure(echo()).await;
    call(&channel(server.address, None), tagged("t")).await.unwrap();
    assert!(server.get("/healthz").await.starts_with("HTTP/1.1 200"));
    assert!(server.get("/readyz").await.starts_with("HTTP/1.1 200"));
    assert!(server.get("/other").await.starts_with("HTTP/1.1 404"));
    let metrics = server.get("/metrics").await;
    for part in [
        "application/openmetrics-text",
        "grpc_server_started_total{grpc_type=\"unary\",grpc_service=\"apiextensions.fn.proto.v1.FunctionRunnerService\",grpc_method=\"RunFunction\"} 1",
        "grpc_server_handled_total{",
        "grpc_server_handling_seconds_bucket{le=\"0.0001\"",
        "testplatform_function_response_bytes_count 1",
        "testplatform_function_panics_total 0",
        "testplatform_function_build_info{version=\"",
        "# EOF",
    ] {
        assert!(metrics.contains(part), "{part} in {metrics}");
    }
}

#[tokio::test]
async fn unknown_service_is_unimplemented() {
    let server = insecure(echo()).await;
    let mut client = tonic::client::Grpc::new(channel(server.address, None));
    for path in [
        "/apiextensions.fn.proto.v1.OtherService/RunFunction",
        "/apiextensions.fn.proto.v1.FunctionRunnerService/Other",
        "/FunctionRunnerService",
        "/",
    ] {
        client.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<RunFunctionRequest, RunFunctionResponse>::default();
        let path_and_query = PathAndQuery::from_static(path);
        let status = client.unary(tagged("t").into_request(), path_and_query, codec).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{path}: {status}");
    }
}

#[tokio::test]
async fn health_and_reflection_know_both_services() {
    use tonic_health::pb::{
        HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
    };
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let (server, authority, _dir) = encrypted().await;
    let channel = channel(server.address, Some(authority.dial(Some(&authority.client()))));
    let services = [
        "apiextensions.fn.proto.v1.FunctionRunnerService",
        "apiextensions.fn.proto.v1beta1.FunctionRunnerService",
    ];
    let mut health = HealthClient::new(channel.clone());
    for service in ["", services[0], services[1]] {
        let answer = health.check(HealthCheckRequest { service: service.into() }).await.unwrap();
        assert_eq!(answer.into_inner().status(), ServingStatus::Serving, "{service}");
    }

    let ask = |message| {
        let request = ServerReflectionRequest { host: String::new(), message_request: Some(message) };
        let mut client = ServerReflectionClient::new(channel.clone());
        async move {
            let requests = tokio_stream::once(request);
            let mut answers = client.server_reflection_info(requests).await.unwrap().into_inner();
            answers.message().await.unwrap().unwrap().message_response.unwrap()
        }
    };
    let MessageResponse::ListServicesResponse(list) = ask(MessageRequest::ListServices(String::new())).await
    else {
        panic!("a list")
    };
    let names: Vec<_> = list.service.into_iter().map(|service| service.name).collect();
    assert!(services.iter().all(|name| names.iter().any(|n| n == name)), "{names:?}");

    // The descriptors are those of Crossplane's API, not of the edited messages in here.
    let symbol = MessageRequest::FileContainingSymbol("apiextensions.fn.proto.v1.Resource".into());
    let MessageResponse::FileDescriptorResponse(files) = ask(symbol).await else { panic!("a file") };
    let file = prost_types::FileDescriptorProto::decode(&*files.file_descriptor_proto[0]).unwrap();
    let resource = file.message_type.iter().find(|message| message.name() == "Resource").unwrap();
    assert_eq!(resource.field[0].type_name(), ".google.protobuf.Struct");
}

async fn refused(config: serve::Config) -> String {
    match Server::bind(config, echo()).await {
        Ok(_) => panic!("started"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn start_failure_is_reported_in_one_line() {
    let server = insecure(echo()).await;
    let mut taken = config(Security::Insecure);
    taken.address = server.address.to_string().parse().unwrap();
    let error = refused(taken).await;
    assert!(error.starts_with(&format!("cannot listen on {} for gRPC: Address", server.address)), "{error}");
    let mut taken = config(Security::Insecure);
    taken.admin_address = server.admin.to_string().parse().unwrap();
    assert!(refused(taken).await.contains("for health and metrics: Address"));

    let (dir, authority) = (TempDir::new().unwrap(), Authority::new());
    let error = refused(mutual(dir.path())).await;
    assert!(error.contains("tls.crt: No such file"), "{error}");
    publish(dir.path(), "1", &authority.server(), "no authority");
    let error = refused(mutual(dir.path())).await;
    assert!(error.contains("ca.crt: no certificate in it"), "{error}");
}
