//! Cost of a pass: CPU of the server over mutual TLS with many calls at a time, and its memory. Both are always printed. Time must meet its
//! target where the program is built for release, as users run it, and memory in any case:
//! `cargo test --release -p function-testplatform --test it cost -- --nocapture`.

#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use crate::serve::{
    harness::{call, channel},
    pki,
};
use prost::Message as _;
use serde_json::Value;
use testplatform_composites::sdk::proto::RunFunctionRequest;
use testplatform_test_data::upstream;
use tokio::task::JoinSet;
use tonic::transport::Channel;

/// The CPU that a call is to take.
const TARGET_MS: f64 = 0.15;
/// How much more is not the program's doing: whatever else runs takes caches from it and slows the clock, and Linux counts by the tick.
/// A call was 0.113 ms where `tests/results/load-100.md` was measured, so what costs twice as much as that is over it even there.
const NOISE: f64 = 1.5;
/// The most memory, whatever is asked of it.
const MOST_MIB: f64 = 16.0;
const IDLE_MIB: f64 = 10.0;
/// Calls at a time, for which both targets are.
const PARALLEL: u32 = 100;
/// As many as make a tick next to nothing. Built for debugging, where only memory is judged, each takes many times as long.
const CALLS: u32 = if cfg!(debug_assertions) { 2_000 } else { 20_000 };

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test]
async fn a_pass_over_a_ready_cluster_stays_within_its_budget() {
    let authority = pki::Authority::new();
    let dir = tempfile::tempdir().unwrap();
    pki::publish(dir.path(), "1", &authority.rsa_server(), &authority.pem());
    let child = Command::new(env!("CARGO_BIN_EXE_function-testplatform"))
        .env("ADDRESS", "127.0.0.1:0")
        .env("METRICS_ADDRESS", "127.0.0.1:0")
        .env("TLS_SERVER_CERTS_DIR", dir.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let mut log = BufReader::new(running.0.stderr.take().unwrap());
    let address = loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "the program ended");
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["msg"] == "serving" {
            break line["address"].as_str().unwrap().parse().unwrap();
        }
    };
    // A full pipe would stop the server.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    let pid = running.0.id();
    let idle = mib(pid, "VmRSS:");

    let request = ready();
    let size = request.encoded_len();
    let channel = channel(address, Some(authority.dial(Some(&authority.client()))));
    calls(&channel, &request, CALLS / 10).await;
    let before = cpu_ms(pid);
    calls(&channel, &request, CALLS).await;
    let each = (cpu_ms(pid) - before) / f64::from(CALLS);
    let (own, peak) = (mib(pid, "RssAnon:"), mib(pid, "VmHWM:"));
    println!("request {size} bytes: {each:.3} ms of CPU a pass, {PARALLEL} at a time");
    println!(
        "memory: {idle:.1} MiB idle, {peak:.1} MiB at its peak, {own:.1} MiB without the program's file"
    );
    assert!(idle <= IDLE_MIB * if cfg!(debug_assertions) { 4.0 } else { 1.0 }, "{idle:.1} MiB idle");
    // The file of a debug build is many times as large; its allocations are the same.
    let held = if cfg!(debug_assertions) { own } else { peak };
    assert!(held <= MOST_MIB, "{held:.1} MiB is more than {MOST_MIB:.1} MiB");
    if cfg!(debug_assertions) {
        println!("not built for release: the CPU of a call was not judged");
    } else {
        let most = TARGET_MS * NOISE;
        assert!(each <= most, "{each:.3} ms is more than {most:.3} ms");
    }
}

/// That many calls, so many at a time over one connection, as core does.
async fn calls(channel: &Channel, request: &RunFunctionRequest, count: u32) {
    // Once it is answered the client knows how many calls the server takes at a time.
    call(channel, request.clone()).await.unwrap();
    let mut callers = JoinSet::new();
    for _ in 0..PARALLEL {
        let (channel, request) = (channel.clone(), request.clone());
        callers.spawn(async move {
            for _ in 0..count / PARALLEL {
                call(&channel, request.clone()).await.unwrap();
            }
        });
    }
    callers.join_all().await;
}

/// The recorded pass over a ready cluster.
fn ready() -> RunFunctionRequest {
    let bytes = fs::read(upstream().join("parity/04-ready/request.json")).unwrap();
    function_model::request_from_json(&serde_json::from_slice(&bytes).unwrap())
}

/// User and system time of a process, in milliseconds.
fn cpu_ms(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name before the last parenthesis may hold spaces; utime and stime are fields 14 and 15.
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|f| f.parse::<f64>().unwrap()).sum();
    // Linux counts in ticks of 10 ms for user space, whatever the kernel's own rate.
    ticks * 10.0
}

/// A figure of the process's memory, by its name in `/proc`.
fn mib(pid: u32, field: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|l| l.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}
