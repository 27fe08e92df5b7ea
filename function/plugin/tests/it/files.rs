//! Files that the plugin writes: kubeconfigs for their owner alone, and its own history.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::{PermissionsExt as _, lchown, symlink},
    process::{Command, Stdio},
    thread,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use kubectl_testplatform::config::{conflicting_server, entry_name, extract_entry, merge_configs};
use serde_json::{Value, json};

use crate::fake::{Fake, claim, ended, event, ready};

const ARMS: &str = r#"
  "get testplatformclusters.ci.openshift.org demo -ojson"*) cat "$room/claim" ;;
  "get secret demo-kubeconfig -o go-template={{with"*) cat "$room/kubeconfig" "$room/owner" ;;
"#;
/// A user who is neither root nor who runs the tests.
const OTHER: u32 = 65_534;
const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
current-context: admin
clusters: [{ name: made, cluster: { server: 'https://api.demo.example:6443' } }]
users: [{ name: u, user: { token: of-demo } }]
contexts: [{ name: admin, context: { cluster: made, user: u } }]
";

fn delivered() -> Fake {
    let fake = Fake::new(ARMS);
    fake.object("claim", &ready());
    fake.write("kubeconfig", &BASE64_STANDARD.encode(KUBECONFIG));
    fake
}

#[test]
fn kubeconfig_file_is_readable_by_its_owner_alone() {
    let fake = delivered();
    let printed = fake.run("kubeconfig demo");
    printed.is(0, "of-demo");
    assert_eq!((printed.out.as_str(), printed.err.as_str()), (KUBECONFIG, ""));
    // A file that others could read becomes one that they cannot.
    fake.write("out", "old");
    fs::set_permissions(fake.path("out"), fs::Permissions::from_mode(0o644)).unwrap();
    let written = fake.run("kubeconfig demo --out out");
    written.is(0, "export KUBECONFIG=out");
    assert!(!written.out.contains("of-demo") && !written.err.contains("of-demo"));
    assert_eq!(fs::read_to_string(fake.path("out")).unwrap(), KUBECONFIG);
    assert_eq!(fs::metadata(fake.path("out")).unwrap().permissions().mode() & 0o777, 0o600);
    fake.run("kubeconfig demo --out nowhere/out").is(1, "cannot write nowhere/out");
    // The suggested command can be typed as it is.
    let spaced = ended(fake.command().args(["kubeconfig", "demo", "--out", "my file"]));
    spaced.is(0, "Written to my file: export KUBECONFIG='my file'\n");
}

/// Nothing is asked for what cannot be written, and nothing of it stays beside.
#[test]
fn output_that_is_no_file_is_left_alone() {
    let fake = delivered();
    fs::create_dir(fake.path("room")).unwrap();
    let before = names(&fake);
    for (out, words) in [("room", "room is a directory"), ("", "--out names no file")] {
        ended(fake.command().args(["kubeconfig", "demo", "--out", out])).is(2, words);
    }
    assert_eq!(fake.calls(), "");
    assert_eq!(names(&fake), before);
    // Whoever reads a pipe gets it, and the pipe stays one.
    let pipe = fake.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    fake.run("kubeconfig demo --out pipe").is(0, "Written to pipe");
    assert!(!fs::metadata(&pipe).unwrap().is_file(), "the pipe is replaced");
    assert_eq!(reader.join().unwrap(), KUBECONFIG);
    assert!(!is_beside(&fake));
}

/// In a directory that all may write, another user can put a link or a pipe in the place of the kubeconfig.
#[test]
fn a_kubeconfig_does_not_follow_the_link_of_another_user() {
    let fake = delivered();
    fake.write("target", "mine");
    let (link, pipe) = (fake.path("link"), fake.path("pipe"));
    symlink(fake.path("target"), &link).unwrap();
    fake.run("kubeconfig demo --out link").is(0, "Written to link");
    assert_eq!(fs::read_to_string(fake.path("target")).unwrap(), KUBECONFIG, "an own link leads on");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    if lchown(&link, Some(OTHER), None).and_then(|()| lchown(&pipe, Some(OTHER), None)).is_err() {
        let _ = writeln!(io::stderr(), "NOT RUN: links of another user: only root can give them away");
        return;
    }
    fake.write("target", "mine");
    for out in ["link", "pipe"] {
        let said = fake.run(&format!("kubeconfig demo --out {out}"));
        said.is(1, &format!("cannot write {out}: another user owns this link or pipe"));
    }
    assert_eq!(fs::read_to_string(fake.path("target")).unwrap(), "mine");
}

/// A file that cannot be put in its place is not left beside it.
#[test]
fn a_kubeconfig_that_cannot_be_put_in_place_is_gone() {
    let fake = delivered();
    // The directory comes to be while the Secret is read.
    let secret = ARMS.replace("cat \"$room/kubeconfig\"", "mkdir \"$room/late\"; cat \"$room/kubeconfig\"");
    let late = Fake::new(&secret);
    late.object("claim", &ready());
    late.write("kubeconfig", &fs::read_to_string(fake.path("kubeconfig")).unwrap());
    late.run("kubeconfig demo --out late").is(1, "cannot write late");
    assert!(!is_beside(&late) && late.path("late").is_dir(), "{:?}", names(&late));
    // Or there is no room for it: here the kernel grants no file a single byte.
    let mut full = Command::new("sh");
    let script = "trap '' 25; ulimit -f 0; exec \"$0\" kubeconfig demo --out out";
    let plugin = fake.command();
    full.args(["-c", script]).arg(plugin.get_program()).current_dir(fake.path(""));
    full.env_clear().env("PATH", "/usr/bin:/bin").env("KUBECTL", fake.path("kubectl"));
    ended(&mut full).is(1, "cannot write out");
    assert!(!is_beside(&fake) && !fake.path("out").exists(), "{:?}", names(&fake));
}

/// `true` if a temporary file of ours is left beside the written one.
fn is_beside(fake: &Fake) -> bool {
    names(fake).iter().any(|name| name.strip_suffix("new").is_some_and(|rest| rest.ends_with('.')))
}

/// Somebody may prepare a change of his own beside the file.
#[test]
fn files_beside_a_kubeconfig_stay() {
    let fake = delivered();
    fake.write("out.new", "mine");
    fake.run("kubeconfig demo --out out").is(0, "Written to out");
    assert_eq!(fs::read_to_string(fake.path("out.new")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(fake.path("out")).unwrap(), KUBECONFIG);
}

fn names(fake: &Fake) -> Vec<String> {
    let entries = fs::read_dir(fake.path("")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    // The plugin is put there when it runs first.
    let mut names: Vec<String> = entries.filter(|name| name != "kubectl-testplatform").collect();
    names.sort();
    names
}

/// Passes that fail do not take a cluster away, nor what leads to it.
#[test]
fn a_kubeconfig_is_handed_out_while_passes_fail() {
    let fake = delivered();
    let words = "the function answered: no";
    fake.object("claim", &claim("Ready", &[["ClusterReady", "Unknown", "FatalError", words]]));
    fake.run("kubeconfig demo").is(0, "of-demo");
    fake.object("claim", &claim("Ready", &[["ClusterReady", "False", "WaitingForCredentials", words]]));
    fake.run("kubeconfig demo").is(3, "is not ready");
}

/// Two claims may come to the same name, and one that is made anew has another cluster.
#[test]
fn replaced_context_is_reported() {
    let fake = delivered();
    let first = fake.run("kubeconfig demo --merge");
    first.is(0, "Added");
    assert_eq!((first.err.as_str(), fake.run("kubeconfig demo --merge").err.as_str()), ("", ""));
    let other = KUBECONFIG.replace("api.demo", "api.other");
    fake.write("kubeconfig", &BASE64_STANDARD.encode(other));
    let said = "note: context testplatform-team-a-demo led to https://api.demo.example:6443 before";
    fake.run("kubeconfig demo --merge").is(0, "Added").is(0, said);
    let own = fs::read_to_string(fake.path(".kube/config")).unwrap();
    assert!(own.contains("api.other") && !own.contains("api.demo"), "{own}");
}

#[test]
fn a_kubeconfig_is_merged_under_kubectls_own_lock() {
    let fake = delivered();
    fake.run("kubeconfig demo --merge").is(0, "kubectl --context testplatform-team-a-demo get nodes");
    let config = || -> Value {
        serde_saphyr::from_str(&fs::read_to_string(fake.path(".kube/config")).unwrap()).unwrap()
    };
    assert_eq!(config()["users"][0]["user"]["token"], "of-demo");
    assert_eq!(config()["current-context"], Value::Null);
    assert_eq!(fs::metadata(fake.path(".kube/config")).unwrap().permissions().mode() & 0o777, 0o600);
    // Where KUBECONFIG or --kubeconfig says so, there; and what is in there stays.
    let own = "current-context: mine\nusers: [{ name: me, user: { token: mine } }]\n";
    fake.write("own", own);
    let said =
        ended(fake.command().env("KUBECONFIG", fake.path("own")).args(["kubeconfig", "demo", "--merge"]));
    said.is(0, "own as context");
    let merged: Value = serde_saphyr::from_str(&fs::read_to_string(fake.path("own")).unwrap()).unwrap();
    assert_eq!(
        (&merged["current-context"], &merged["users"][0]["user"]["token"]),
        (&"mine".into(), &"mine".into())
    );
    assert_eq!(merged["users"][1]["name"], "testplatform-team-a-demo");
    fake.write("own.lock", "");
    fake.run("kubeconfig demo --merge --kubeconfig own").is(1, "own.lock").is(1, "Another kubectl");
    fs::remove_file(fake.path("own.lock")).unwrap();
    fake.write("own", "{ broken");
    fake.run("kubeconfig demo --merge --kubeconfig own").is(1, "own:");
    assert_eq!(fs::read_to_string(fake.path("own")).unwrap(), "{ broken");
    assert!(!fake.path("own.lock").exists(), "the lock is left behind");
    // The lock has the file's whole name, and of several files the first that is there is changed, else the last.
    let own = "users: [{ name: me, user: { token: mine } }]\n";
    fake.write("lab.yaml", own);
    fake.write("lab.yaml.lock", "");
    let several =
        std::env::join_paths([fake.path("gone"), fake.path("lab.yaml"), fake.path("last")]).unwrap();
    let merge = || ended(fake.command().env("KUBECONFIG", &several).args(["kubeconfig", "demo", "--merge"]));
    merge().is(1, "lab.yaml.lock");
    assert_eq!(fs::read_to_string(fake.path("lab.yaml")).unwrap(), own);
    fs::remove_file(fake.path("lab.yaml.lock")).unwrap();
    merge().is(0, "lab.yaml as context");
    fs::remove_file(fake.path("lab.yaml")).unwrap();
    merge().is(0, "last as context");
    assert!(!fake.path("gone").exists());
}

/// A block whose first line begins with a tab is none to kubectl, which then reads nothing of the whole file.
#[test]
fn merged_kubeconfig_is_readable_for_kubectl() {
    let fake = delivered();
    let texts = ["\tfoo\nbar", "\n\tfoo\n", " \tfoo\nbar", "foo\n\tbar\n", "- foo\nbar: x", "yes", "# no\n"];
    let extensions: Vec<Value> = texts.iter().map(|t| json!({ "name": "x", "extension": t })).collect();
    let own = json!({ "users": [{ "name": "me", "user": { "token": "mine" } }], "extensions": extensions });
    fake.object("own", &own);
    fake.run("kubeconfig demo --merge --kubeconfig own").is(0, "own as context");
    let text = fs::read_to_string(fake.path("own")).unwrap();
    assert!(!text.contains(": |") && !text.contains('\t'), "{text}");
    let merged: Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!((&merged["extensions"], &merged["users"][0]), (&own["extensions"], &own["users"][0]));
}

#[test]
fn missing_kubeconfig_is_explained() {
    let fake = delivered();
    for (phase, code) in
        [("Pending", 3), ("Provisioning", 3), ("Failed", 4), ("Deprovisioning", 7), ("Deprovisioned", 7)]
    {
        fake.object("claim", &claim(phase, &[]));
        fake.run("kubeconfig demo").is(code, "it is ").is(code, "kubectl testplatform why demo");
    }
    fake.object("claim", &ready());
    fake.write("kubeconfig", "");
    fake.run("kubeconfig demo").is(3, "Secret demo-kubeconfig has no kubeconfig yet");
    fake.write("kubeconfig", "%%%");
    fake.run("kubeconfig demo").is(1, "is not text");
    fake.write("kubeconfig", &BASE64_STANDARD.encode("current-context: gone"));
    let said = fake.run("kubeconfig demo --merge");
    said.is(1, "cannot be used: it has no entry \"gone\" among its contexts");
}

#[test]
fn a_run_is_remembered_where_that_can_be() {
    let arms = r#"
  apply*) cat "$room/claim" ;;
  *--watch*) cat "$room/watch" ;;
  "get secret"*) cat "$room/secret" ;;"#;
    let fake = Fake::new(arms);
    fake.object("claim", &claim("Pending", &[]));
    fake.write("watch", &event("ADDED", &ready()));
    fake.object("claim.yaml", &claim("", &[]));
    fake.run("up claim.yaml").is(0, "testplatformcluster/demo is ready after 40m");
    let history = fake.path(".local/state/testplatform/history");
    let line = "2026-03-02T10:40:00Z\t2400\tipi-aws/aws\n";
    assert_eq!(fs::read_to_string(&history).unwrap(), line);
    // Broken or not to be written, it fails nobody.
    fs::write(&history, [0xff, 0xfe, 0]).unwrap();
    fake.run("up claim.yaml").is(0, "is ready");
    let blocked = fake.path("claim.yaml");
    ended(fake.command().env("XDG_STATE_HOME", &blocked).args(["up", "claim.yaml"])).is(0, "is ready");
    ended(fake.command().env_remove("HOME").args(["up", "claim.yaml"])).is(0, "is ready");
    ended(fake.command().env("XDG_STATE_HOME", fake.path("state")).args(["up", "claim.yaml"]))
        .is(0, "is ready");
    assert_eq!(fs::read_to_string(fake.path("state/testplatform/history")).unwrap(), line);
}

#[test]
fn a_kubeconfig_is_put_beside_others() {
    let delivered = json!({
        "current-context": "admin",
        "clusters": [{ "name": "c", "cluster": { "server": "https://api" } }, { "name": "other", "cluster": {} }],
        "users": [{ "name": "u", "user": { "token": "t" } }],
        "contexts": [{ "name": "admin", "context": { "cluster": "c", "user": "u", "namespace": "n" } }],
    });
    let name = entry_name("team-a", "demo");
    let new = extract_entry(&delivered, &name).unwrap();
    assert_eq!(new["contexts"][0]["context"], json!({ "cluster": name, "user": name, "namespace": "n" }));
    assert_eq!(new["clusters"], json!([{ "name": name, "cluster": { "server": "https://api" } }]));
    let own = json!({
        "current-context": "mine", "preferences": { "colors": true },
        "clusters": [{ "name": "mine", "cluster": {} }, { "name": name, "cluster": { "server": "https://old" } }],
    });
    assert_eq!(conflicting_server(&own, &new).as_deref(), Some("https://old"));
    let both = merge_configs(own, &new);
    assert_eq!(conflicting_server(&both, &new), None, "it leads where it led");
    assert_eq!(conflicting_server(&Value::Null, &new), None);
    assert_eq!(both["current-context"], "mine");
    assert_eq!(both["preferences"]["colors"], true);
    let names: Vec<_> = both["clusters"].as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
    assert_eq!(names, [json!("mine"), json!(name)]);
    assert_eq!(merge_configs(both.clone(), &new), both);
    assert_eq!(merge_configs(Value::Null, &new)["kind"], "Config");
    assert!(extract_entry(&json!({}), "x").unwrap_err().contains("no current context"));
    for alive in ["exec", "tokenFile"] {
        let mut alien = delivered.clone();
        alien["users"][0]["user"][alive] = "rm".into();
        assert!(extract_entry(&alien, "x").unwrap_err().contains(alive));
    }
    let broken = json!({ "current-context": "gone" });
    assert!(extract_entry(&broken, "x").unwrap_err().contains("no entry \"gone\" among its contexts"));
}

/// As in `get -A | head`.
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let fake = Fake::new(&format!(
        "  \"get testplatformclusters.ci.openshift.org demo -o\"*) cat \"$room/claim\" ;;\n  *go-template={{{{range*) cat \"$room/secret\" ;;\n  get*testplatformclusters*) printf '{{\"items\":[%s]}}' \"$(cat \"$room/claim\")\" ;;\n{ARMS}"
    ));
    fake.object("claim", &ready());
    fake.write("kubeconfig", "a3ViZWNvbmZpZwo=");
    for line in ["get -A", "get demo -o yaml", "why demo", "kubeconfig demo"] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = fake.command();
        command.args(line.split_whitespace()).stdout(writer).stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{line}");
    }
}
