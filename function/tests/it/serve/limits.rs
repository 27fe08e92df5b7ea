//! Limits of open connections and calls.

use std::time::Duration;

use tokio::time::timeout;

use super::{
    encrypted,
    harness::{PATIENCE, call, channel, tagged},
};

/// Streams of a client that leaves them open are memory of ours.
#[tokio::test]
async fn streams_of_a_connection_are_limited() {
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
    let (server, authority, _dir) = encrypted().await;
    let client = || channel(server.address, Some(authority.dial(Some(&authority.client()))));
    let mut health = HealthClient::new(client());
    let watch = || HealthCheckRequest { service: String::new() };
    let mut open = Vec::new();
    for _ in 0..24 {
        open.push(timeout(PATIENCE, health.watch(watch())).await.unwrap().unwrap());
    }
    let more = timeout(Duration::from_millis(500), health.watch(watch())).await;
    assert!(more.is_err(), "one more was taken");
    call(&client(), tagged("t")).await.unwrap();
    open.pop();
    timeout(PATIENCE, health.watch(watch())).await.unwrap().unwrap();
}
