//! The function that does nothing: the floor that TLS, HTTP/2 and the messages themselves set.
//!
//! It decodes each request into the same messages and encodes the same answer as the function, and is served by tonic
//! as it comes: no metrics, no log, no certificates that are read again. Or it makes of each Struct what prost-types has for
//! it, and of that the answer: the floor of a function that is made with tonic and prost as they come.

use std::{fs, hint::black_box, io, sync::Arc};

use anyhow::Context as _;
use prost::Message as _;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};
use testplatform_composites::sdk::proto::{
    RunFunctionRequest, RunFunctionResponse,
    v1::function_runner_service_server::{FunctionRunnerService, FunctionRunnerServiceServer},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, async_trait, transport::Server};

use super::{
    arguments::Noop,
    trees::{self, Trees},
};

enum Answering {
    Bytes(RunFunctionResponse),
    Trees(Trees),
}

#[async_trait]
impl FunctionRunnerService for Answering {
    async fn run_function(
        &self,
        request: Request<RunFunctionRequest>,
    ) -> Result<Response<RunFunctionResponse>, Status> {
        let answer = match self {
            Self::Bytes(answer) => answer.clone(),
            Self::Trees(answer) => {
                let read = trees::read(request.get_ref());
                black_box(read.map_err(|error| Status::invalid_argument(error.to_string()))?);
                answer.write()
            }
        };
        Ok(Response::new(answer))
    }
}

/// Serves until it is killed.
pub(super) async fn serve(arguments: &Noop) -> anyhow::Result<()> {
    let answer = fs::read(&arguments.answer).context("cannot read the answer")?;
    let answer =
        RunFunctionResponse::decode(&answer[..]).context("the answer is not a RunFunctionResponse")?;
    let acceptor = TlsAcceptor::from(Arc::new(tls(arguments)?));
    let listener = TcpListener::bind(arguments.address).await?;
    let (out, connections) = mpsc::channel::<io::Result<TlsStream<TcpStream>>>(1);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            // Who only looks whether the port is open ends here.
            if let Ok(stream) = acceptor.accept(stream).await
                && out.send(Ok(stream)).await.is_err()
            {
                return;
            }
        }
    });
    let answering = if arguments.trees {
        Answering::Trees(Trees::of(answer).context("the answer has a Struct that is none")?)
    } else {
        Answering::Bytes(answer)
    };
    let service = FunctionRunnerServiceServer::new(answering).max_decoding_message_size(64 << 20);
    Server::builder().add_service(service).serve_with_incoming(ReceiverStream::new(connections)).await?;
    Ok(())
}

fn tls(arguments: &Noop) -> anyhow::Result<ServerConfig> {
    let file = |name: &str| arguments.tls_certs_dir.join(name);
    let read =
        |name| CertificateDer::pem_file_iter(file(name)).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut roots = RootCertStore::empty();
    for authority in read("ca.crt")? {
        roots.add(authority)?;
    }
    let provider = Arc::new(ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider)).build()?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(clients)
        .with_single_cert(read("tls.crt")?, PrivateKeyDer::from_pem_file(file("tls.key"))?)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}
