//! How a fault is done, and how it is put right.

use std::{net::Ipv4Addr, time::Duration};

use anyhow::Context as _;
use serde_json::json;
use testplatform_apis::names::ephemeral_cluster;
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    evidence::Log,
    fault::{Certificate, Fault, Part, Wire},
    field::{Field, insist, lock},
    presented::presents,
};
use crate::{
    cluster::at,
    crossplane::BEHIND,
    function,
    hub::Credential,
    kinds::PROW_JOB,
    patience::longer,
    pki::{Authority, Leaf},
    provider,
    prow::JOBS,
    proxy::Manner,
};

/// How much longer everything takes on a slow wire.
const SLOW: Duration = Duration::from_millis(400);
/// Between two resets.
const RESET: Duration = Duration::from_millis(700);
/// Slow clients of one program, and how often each sends a byte.
const LORISES: usize = 60;
const BYTE: Duration = Duration::from_millis(300);
/// The connections of a crowd.
const CROWD: usize = 1000;
/// How long the next of many may take to connect.
const GATHERING: Duration = Duration::from_secs(30);
/// Size of a long list: the number of objects, and the bytes in an annotation of each, which is the most that an API server accepts.
const LARGE: (usize, usize) = (20, 240 << 10);
/// A list of all of them is longer.
const LARGER: u64 = 4 << 20;

impl Field {
    /// Injects the fault. Its tools may be down for a while, because of another fault.
    pub async fn strike(&self, fault: Fault) -> anyhow::Result<()> {
        match fault {
            Fault::Killed(part) => self.kill(part),
            Fault::Reset(wire) => self.keep_resetting(fault, wire),
            Fault::Slow(wire) => self.wires[&wire].be(Manner::Slow(SLOW)),
            Fault::Silent(wire) => self.wires[&wire].be(Manner::Silent),
            Fault::Refused(wire) => {
                self.wires[&wire].be(Manner::Refusing);
                self.wires[&wire].reset();
            }
            Fault::NoSpace(plane) => insist("etcd is filled", || self.plane(plane).fill_etcd()).await?,
            Fault::Rotated(certificate) => self.certify(certificate, false).await?,
            Fault::Expired(certificate) => self.certify(certificate, true).await?,
            Fault::WrongAuthority(Part::ProviderKubernetes) => {
                let mut distrusting = self.credential.clone();
                distrusting.kubeconfig = self.another.instead(distrusting.kubeconfig);
                self.use_credential(&distrusting).await?;
            }
            Fault::WrongAuthority(Part::Provider) => {
                let log = Log::from_now(self.engine.nest().log(provider::NAME));
                self.lead_provider(true)?;
                self.restart(Part::Provider)?;
                self.distrusted(&log).await?;
            }
            Fault::WrongAuthority(_) => {
                let leaf = self.another.server(function::NAME)?;
                self.serve_with(&self.another, &leaf).await?;
            }
            Fault::Skewed(part, seconds) => self.skew(part, seconds).await?,
            Fault::LargeAnswers => self.enlarge().await?,
            Fault::LongAnswers => self.weigh_down().await?,
            Fault::SlowLoris(part) => self.creep(fault, part).await?,
            Fault::Crowd => self.crowd(fault).await?,
        }
        Ok(())
    }

    /// Puts it right.
    pub async fn heal(&self, fault: Fault) -> anyhow::Result<()> {
        for guest in lock(&self.guests).remove(&fault).into_iter().flatten() {
            guest.abort();
        }
        match fault {
            Fault::Killed(part) => self.start_part(part)?,
            Fault::Slow(wire) | Fault::Silent(wire) | Fault::Refused(wire) => {
                self.wires[&wire].be(Manner::Good);
            }
            Fault::NoSpace(plane) => {
                insist("etcd has room", || self.plane(plane).make_room_in_etcd()).await?;
            }
            Fault::Expired(certificate) => self.certify(certificate, false).await?,
            Fault::WrongAuthority(Part::ProviderKubernetes) => self.use_credential(&self.credential).await?,
            Fault::WrongAuthority(Part::Provider) => {
                self.lead_provider(false)?;
                self.restart(Part::Provider)?;
            }
            Fault::WrongAuthority(_) => self.certify(Certificate::Server, false).await?,
            Fault::Skewed(part, _) => self.right(part).await?,
            Fault::LargeAnswers => self.shrink().await?,
            Fault::LongAnswers => self.lighten().await?,
            Fault::Reset(_) | Fault::Rotated(_) | Fault::SlowLoris(_) | Fault::Crowd => {}
        }
        Ok(())
    }

    fn keep_resetting(&self, fault: Fault, wire: Wire) {
        let reset = self.wires[&wire].resetter();
        let task = tokio::spawn(async move {
            loop {
                reset();
                sleep(RESET).await;
            }
        });
        self.invite(fault, task);
    }

    fn invite(&self, fault: Fault, guest: JoinHandle<()>) {
        lock(&self.guests).entry(fault).or_default().push(guest);
    }

    /// Issues a certificate. Open connections keep the old one, so it makes them connect again.
    async fn certify(&self, certificate: Certificate, expired: bool) -> anyhow::Result<()> {
        let authority = self.engine.authority();
        match certificate {
            Certificate::Server if expired => {
                self.serve_with(authority, &authority.expired_server(function::NAME)?).await
            }
            Certificate::Server => self.serve_with(authority, &authority.server(function::NAME)?).await,
            Certificate::Client => {
                let leaf = if expired {
                    authority.expired_client("crossplane")?
                } else {
                    authority.client("crossplane", None)?
                };
                authority.publish(&self.client_certificates(), &leaf)?;
                // Core reads it when it starts.
                self.restart(Part::Core)?;
                if expired {
                    self.turned_away().await?;
                }
                Ok(())
            }
        }
    }

    /// The function looks for new certificates once a second at most: who connected sooner would be shown the old one.
    async fn serve_with(&self, authority: &Authority, leaf: &Leaf) -> anyhow::Result<()> {
        authority.publish(self.engine.function.certificates(), leaf)?;
        let port = self.engine.function.port();
        insist("the function shows that certificate", || presents(port, leaf)).await?;
        self.wires[&Wire::Function].reset();
        Ok(())
    }

    async fn use_credential(&self, credential: &Credential) -> anyhow::Result<()> {
        insist("provider-kubernetes has that kubeconfig", || self.engine.use_credential(BEHIND, credential))
            .await?;
        self.wires[&Wire::Hub].reset();
        Ok(())
    }

    /// Jobs that are over, and have much to say. Whoever lists jobs anew gets all of them.
    async fn enlarge(&self) -> anyhow::Result<()> {
        for number in 0..LARGE.0 {
            let job = json!({
                "apiVersion": "prow.k8s.io/v1", "kind": "ProwJob",
                "metadata": {
                    "name": large(number), "namespace": JOBS,
                    "labels": { ephemeral_cluster::LABEL: large(number) },
                    "annotations": { "testbed/large": "x".repeat(LARGE.1) },
                },
                "spec": { "type": "periodic", "job": "large", "cluster": "default", "agent": "kubernetes" },
                "status": { "state": "success", "completionTime": "2026-01-01T00:00:00Z" },
            });
            insist("a large job is there", || self.engine.hub.cluster().apply(&job)).await?;
        }
        self.list_anew(Wire::Provider, LARGER).await
    }

    async fn shrink(&self) -> anyhow::Result<()> {
        for number in 0..LARGE.0 {
            let job = at(PROW_JOB, JOBS, &large(number));
            insist("a large job is gone", || self.engine.hub.cluster().delete(&job)).await?;
        }
        Ok(())
    }

    /// Clients that begin a handshake, or a request, and never come to its end.
    async fn creep(&self, fault: Fault, part: Part) -> anyhow::Result<()> {
        // The first bytes of a ClientHello, and of a request.
        let (tls, http): (&[u8], &[u8]) =
            (&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3], b"GET /metrics HTTP/1.1\r\nx: ");
        let targets = match part {
            Part::Function => {
                vec![(self.engine.function.port(), tls), (self.engine.function.admin_port(), http)]
            }
            _ => vec![(self.engine.fulfiller.admin_port(), http)],
        };
        let all = targets.len() * LORISES;
        let (came, arrived) = mpsc::unbounded_channel();
        for (port, begin) in targets {
            for _ in 0..LORISES {
                self.invite(fault, tokio::spawn(creep(port, begin, came.clone())));
            }
        }
        gathered(all, arrived).await
    }

    /// Whoever cannot connect, because too many already do, goes on trying.
    async fn crowd(&self, fault: Fault) -> anyhow::Result<()> {
        let port = self.engine.function.port();
        let (came, arrived) = mpsc::unbounded_channel();
        for _ in 0..CROWD {
            let came = came.clone();
            let one = tokio::spawn(async move {
                let _held = connect(port).await;
                let _ = came.send(());
                std::future::pending::<()>().await;
            });
            self.invite(fault, one);
        }
        gathered(CROWD, arrived).await
    }
}

/// Waits until so many have come.
async fn gathered(all: usize, mut arrived: UnboundedReceiver<()>) -> anyhow::Result<()> {
    for come in 0..all {
        let next = timeout(longer(GATHERING), arrived.recv()).await;
        next.ok().flatten().with_context(|| format!("no more than {come} of {all} clients can connect"))?;
    }
    Ok(())
}

async fn connect(port: u16) -> TcpStream {
    loop {
        if let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
            return stream;
        }
        sleep(BYTE).await;
    }
}

fn large(number: usize) -> String {
    format!("large-{number}")
}

async fn creep(port: u16, begin: &[u8], came: UnboundedSender<()>) {
    let mut stream = connect(port).await;
    let _ = came.send(());
    loop {
        for byte in begin.iter().chain(std::iter::repeat(&b'x')) {
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            sleep(BYTE).await;
        }
        stream = connect(port).await;
    }
}
