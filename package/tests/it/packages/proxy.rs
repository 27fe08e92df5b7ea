//! Registries behind a proxy, as in networks that have no other way out.

use std::{
    io::{BufRead as _, BufReader, Write as _, copy},
    net::{Shutdown, TcpListener, TcpStream},
    process::Output,
    sync::{Arc, Mutex},
    thread,
};

use testplatform_package::oci::{Artifact, layout};

use crate::packages::support::{AMD64, Registry, function, run, stderr, stdout, tool};

/// Name of the registry, which only the proxy knows: this one never means anything to anybody else.
const NAME: &str = "registry.invalid";
/// "robot:secret".
const LOGIN: &str = "Basic cm9ib3Q6c2VjcmV0";

/// A proxy of HTTP: `CONNECT`, and bytes from then on. Wherever one wants to go, one comes to one place.
struct Proxy {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Lets in whoever says so, or everybody.
    fn start(place: &str, login: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(vec![]));
        let (place, written) = (place.to_owned(), Arc::clone(&asked));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (place, written) = (place.clone(), Arc::clone(&written));
                thread::spawn(move || serve(client, &place, login, &written));
            }
        });
        Self { address, asked }
    }

    /// The first lines of requests since the last time.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn serve(mut client: TcpStream, place: &str, login: Option<&str>, asked: &Mutex<Vec<String>>) {
    let mut head = BufReader::new(client.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = head.next() else { return };
    let mut known = login.is_none();
    for line in head.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap_or_default();
        known |= name.eq_ignore_ascii_case("proxy-authorization") && Some(value) == login;
    }
    asked.lock().unwrap().push(first);
    if !known {
        let _ = client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
        return;
    }
    let server = TcpStream::connect(place).unwrap();
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
    let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || {
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let (mut from, mut to) = (client, server);
    let _ = copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

/// A registry with a certificate for its name, and the words with which a package goes there and is read back.
struct Away {
    registry: Registry,
    folder: tempfile::TempDir,
    package: String,
    reference: String,
}

impl Away {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certified = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
        let [cert, key] = ["cert", "key"].map(|name| folder.path().join(name).display().to_string());
        std::fs::write(&cert, certified.cert.pem()).unwrap();
        std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
        let registry = Registry::start(&["-cert", &cert, "-key", &key]);
        let package = folder.path().join("package");
        layout::write(&package, &Artifact::of(function(&[AMD64])).unwrap(), "x").unwrap();
        let package = package.display().to_string();
        Self { registry, folder, package, reference: format!("{NAME}/team/f:v1") }
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = tool(arguments);
        command.env("SSL_CERT_FILE", self.folder.path().join("cert"));
        run(command.envs(variables.iter().copied()))
    }
}

#[test]
fn a_registry_is_reached_through_the_proxy() {
    let away = Away::new();
    let proxy = Proxy::start(&away.registry.address, None);
    let address = format!("http://{}", proxy.address);
    for variable in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        for arguments in [&["push", &away.package, &away.reference][..], &["check", "xpkg", &away.reference]]
        {
            let ran = away.run(arguments, &[(variable, &address)]);
            assert!(ran.status.success(), "{variable} {arguments:?}: {}{}", stdout(&ran), stderr(&ran));
            // One tunnel for all requests; what is in it the proxy does not see.
            assert_eq!(proxy.asked(), [format!("CONNECT {NAME}:443 HTTP/1.1")], "{variable} {arguments:?}");
            assert!(away.registry.requests().len() > 2);
        }
    }
}

#[test]
fn a_proxy_with_authentication_gets_credentials() {
    let away = Away::new();
    let proxy = Proxy::start(&away.registry.address, Some(LOGIN));
    let push = ["push", away.package.as_str(), away.reference.as_str()];
    let with = away.run(&push, &[("HTTPS_PROXY", &format!("http://robot:secret@{}", proxy.address))]);
    assert!(with.status.success(), "{}", stderr(&with));
    let wrong = away.run(&push, &[("HTTPS_PROXY", &format!("http://robot:hidden@{}", proxy.address))]);
    assert_eq!(wrong.status.code(), Some(1));
    let said = stderr(&wrong);
    assert!(said.contains("proxy authorization required") && said.contains(&proxy.address), "{said}");
    assert!(!said.contains("hidden"), "{said}");
}

#[test]
fn exceptions_of_the_proxy_are_reached_directly() {
    let away = Away::new();
    let proxy = Proxy::start(&away.registry.address, None);
    let address = format!("http://{}", proxy.address);
    // The name means nothing to this machine.
    let push = ["push", away.package.as_str(), away.reference.as_str()];
    let past = away.run(&push, &[("HTTPS_PROXY", &address), ("NO_PROXY", ".invalid")]);
    assert_eq!(past.status.code(), Some(1), "{}", stdout(&past));
    let plain = Registry::start(&[]);
    let here = format!("{}/team/f:v1", plain.address);
    let local = away.run(&["push", &away.package, &here], &[("HTTPS_PROXY", &address)]);
    assert!(local.status.success(), "{}", stderr(&local));
    assert_eq!(proxy.asked(), Vec::<String>::new());

    let gone = away.run(&push, &[("HTTPS_PROXY", "http://127.0.0.1:1")]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(stderr(&gone).contains("no way through the proxy http://127.0.0.1:1/"), "{}", stderr(&gone));
}

/// No client of an API server can use a proxy: one that is there for registries must not keep it from being made.
#[test]
fn the_proxy_of_registries_is_not_used_for_api_servers() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let check = |cluster: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n  cluster: {{server: 'https://127.0.0.1:1'{cluster}}}\n\
             users:\n- name: c\n  user: {{token: t}}\ncontexts:\n- name: c\n  context: {{cluster: c, user: c}}\n"
        );
        std::fs::write(&kubeconfig, text).unwrap();
        let arguments = ["check", "cluster", "--kubeconfig", kubeconfig.to_str().unwrap()];
        run(tool(&arguments).env("HTTPS_PROXY", "http://127.0.0.1:2"))
    };
    let direct = stderr(&check(""));
    assert!(direct.contains("cannot be reached"), "{direct}");
    let named = stderr(&check(", proxy-url: 'http://127.0.0.1:3'"));
    assert!(
        named.contains("the kubeconfig cannot be used"),
        "who names one does not want to go without: {named}"
    );
}
