//! The built program, serving on ports of its choice.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{certs::Authority, python};
use crate::serve::pki::{Leaf, publish};

/// More than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Server {
    child: Child,
    certs: TempDir,
    port: u16,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// With a certificate of `authority`, for clients of `authority`.
    pub fn start(authority: &Authority, flags: &[&str]) -> Self {
        python::interpreter(); // without a client there is no point in starting anything
        let certs = TempDir::new().unwrap();
        publish(certs.path(), "1", &authority.server(), &authority.pem);
        let mut child = Command::new(env!("CARGO_BIN_EXE_function-testplatform"))
            .env_clear()
            .args(["--address=127.0.0.1:0", "--metrics-address=127.0.0.1:0", "--tls-certs-dir"])
            .arg(certs.path())
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let log = Arc::new(Mutex::new(Vec::new()));
        // It says which ports it chose; choosing them here would be a race with everybody else.
        let serving = lines.by_ref().find_map(|line| {
            let json: Value = serde_json::from_str(&line).unwrap_or_default();
            log.lock().unwrap().push(line);
            (json["msg"] == "serving").then_some(json)
        });
        let rest = Arc::clone(&log);
        thread::spawn(move || lines.for_each(|line| rest.lock().unwrap().push(line)));
        let address = |key: &str| -> Option<SocketAddr> { serving.as_ref()?[key].as_str()?.parse().ok() };
        let mut server = Self { child, certs, port: 0, log };
        server.port = address("address").expect("the program serves").port();
        wait_ready(address("admin_address").expect("the program has an admin port"));
        server
    }

    /// Has a client do something to this server.
    pub fn ask(&self, tls: &Value, mut job: Value) -> Value {
        let map = job.as_object_mut().unwrap();
        map.insert("target".into(), json!(format!("localhost:{}", self.port)));
        map.insert("pid".into(), self.child.id().into());
        map.insert("tls".into(), tls.clone());
        map.entry("seconds").or_insert(json!(PATIENCE.as_secs()));
        python::ask(&job)
    }

    /// Calls with each request, in both versions of the protocol.
    pub fn call(&self, tls: &Value, requests: &[Value]) -> Value {
        self.ask(tls, json!({"do": "calls", "versions": ["v1", "v1beta1"], "requests": requests}))
    }

    /// Gives it other certificates, the way a kubelet does.
    pub fn replace_certificates(&self, version: &str, leaf: &Leaf, clients: &Authority) {
        publish(self.certs.path(), version, leaf, &clients.pem);
    }

    pub fn running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// How it ended, which it has been told to.
    pub fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            println!("the server's log:\n{}", self.log.lock().unwrap().join("\n"));
        }
    }
}

fn wait_ready(admin: SocketAddr) {
    let start = Instant::now();
    while !is_ready(admin) {
        assert!(start.elapsed() < PATIENCE, "never ready");
        thread::sleep(Duration::from_millis(10));
    }
}

fn is_ready(admin: SocketAddr) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(admin)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}
