//! Crossplane arguments that cost claims time or CPU. Input: Deployments from the API server. No I/O.
//!
//! The advice and its measurements are in `docs/how-to/crossplane-settings.md`.

use serde_json::Value;

/// Advice starts above this number. Bursts were measured with 4, 10 and 100: 100 is slower and costs more CPU. Numbers in between were not measured.
const MAX_RECONCILES: u32 = 30;
/// Crossplane's default of `--max-concurrent-reconciles`.
const DEFAULT_RECONCILES: u32 = 100;
/// Crossplane's default of `--circuit-breaker-burst`.
const DEFAULT_BURST: f64 = 100.0;

/// Advice about Crossplane's arguments, for its installer. Empty: nothing is worth a change, or no Deployment runs Crossplane.
pub fn advise_deployments(deployments: &[Value]) -> Vec<String> {
    deployments
        .iter()
        .filter_map(core_arguments)
        .flat_map(|(name, arguments)| advise_on(&name, &arguments))
        .collect()
}

/// Namespace and name of a Deployment of Crossplane's core, and the arguments of its container.
fn core_arguments(deployment: &Value) -> Option<(String, Vec<&str>)> {
    let containers = deployment.pointer("/spec/template/spec/containers")?.as_array()?;
    let arguments = containers.iter().find_map(|container| {
        let all = container["command"].as_array().into_iter().chain(container["args"].as_array()).flatten();
        let all: Vec<&str> = all.filter_map(Value::as_str).collect();
        all.windows(2).any(|pair| pair == ["core", "start"]).then_some(all)
    })?;
    let part = |field: &str| deployment["metadata"][field].as_str().unwrap_or_default();
    Some((format!("Deployment {}/{}", part("namespace"), part("name")), arguments))
}

fn advise_on(name: &str, arguments: &[&str]) -> Vec<String> {
    let mut advice = Vec::new();
    let reconciles = value_of(arguments, "max-concurrent-reconciles");
    let reconciles = reconciles.map_or(Some(DEFAULT_RECONCILES), |text| text.parse().ok());
    if let Some(number) = reconciles.filter(|number| *number > MAX_RECONCILES) {
        advice.push(format!(
            "{name} reconciles {number} composites at a time; with --max-concurrent-reconciles=10 claims that are made together are ready sooner, for less CPU"
        ));
    }
    let burst = value_of(arguments, "circuit-breaker-burst").and_then(|text| text.parse::<f64>().ok());
    if let Some(burst) = burst.filter(|burst| *burst < DEFAULT_BURST) {
        advice.push(format!(
            "{name} has --circuit-breaker-burst={burst}; one life of a claim causes about 95 to 190 events, so use at least {DEFAULT_BURST}"
        ));
    }
    if value_of(arguments, "enable-realtime-compositions").is_some_and(|value| value == "false") {
        advice.push(format!(
            "{name} has --enable-realtime-compositions=false; a claim then follows its cluster only at Crossplane's poll interval"
        ));
    }
    advice
}

/// The value of a flag, given as `--flag=value` or in two words; the last one counts.
fn value_of<'a>(arguments: &[&'a str], flag: &str) -> Option<&'a str> {
    let mut value = None;
    for (index, argument) in arguments.iter().enumerate() {
        let Some(rest) = argument.strip_prefix("--").and_then(|name| name.strip_prefix(flag)) else {
            continue;
        };
        match rest.strip_prefix('=') {
            Some(given) => value = Some(given),
            None if rest.is_empty() => value = arguments.get(index + 1).copied(),
            None => {}
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn advice(arguments: &[&str]) -> Vec<String> {
        let sidecar = json!({ "name": "proxy", "args": ["--verbose"] });
        let arguments = [&["core", "start"], arguments].concat();
        let core = json!({ "name": "crossplane", "args": arguments });
        advise_deployments(&[
            json!({ "metadata": { "name": "other" }, "spec": {} }),
            json!({
                "metadata": { "namespace": "crossplane-system", "name": "crossplane" },
                "spec": { "template": { "spec": { "containers": [sidecar, core] } } },
            }),
        ])
    }

    #[test]
    fn recommended_arguments_need_no_advice() {
        assert_eq!(advice(&["--max-concurrent-reconciles=10", "--debug"]), [""; 0]);
        assert_eq!(advice(&["--max-concurrent-reconciles", "10"]), [""; 0]);
        assert_eq!(advise_deployments(&[]), [""; 0]);
    }

    #[test]
    fn default_concurrency_and_low_burst_are_named_with_the_deployment() {
        let found = advice(&["--circuit-breaker-burst=50", "--enable-realtime-compositions=false"]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].starts_with("Deployment crossplane-system/crossplane reconciles 100 composites"),
            "{found:?}"
        );
        assert!(found[1].contains("--circuit-breaker-burst=50"), "{found:?}");
        assert!(found[2].contains("poll interval"), "{found:?}");
    }

    #[test]
    fn last_of_a_repeated_flag_counts() {
        let arguments = ["--max-concurrent-reconciles=100", "--max-concurrent-reconciles=5"];
        assert_eq!(advice(&arguments), [""; 0]);
    }
}
