//! Explanation of the chosen pool.

use crate::cluster::{
    lifecycle::ClusterEvaluation,
    observed::Pools,
    request::{Block, Validated},
};

/// The pool and its hub, and what of the catalogue cannot be used.
pub(super) fn pool_lines(evaluation: &ClusterEvaluation, request: &Validated) -> Vec<String> {
    let Block::ClusterClaim(claimed) = &request.block else { return vec![] };
    let place = claimed.pool.as_ref();
    let chosen = match place {
        Some(place) => format!("{}/{} on hub {} ({})", place.namespace, place.pool, place.hub, place.reason),
        None => "none".into(),
    };
    let mut lines = vec![format!("pool: {chosen}")];
    match &evaluation.observed.pools {
        _ if !evaluation.observed.is_unplaced() => {
            lines.push("catalogue: not requested, because the pool is no longer open".into());
        }
        Pools::NotFetched => lines.push("catalogue: was requested; this answer is not final".into()),
        Pools::Missing => {
            lines.push(format!("catalogue: EnvironmentConfig {} does not exist", evaluation.settings.pools));
        }
        Pools::Invalid(why) => lines.push(format!("catalogue: {why}")),
        Pools::Found(catalogue, flaws) => {
            let (pools, hubs) = (catalogue.pools.len(), catalogue.hubs.len());
            lines.push(format!("catalogue: pools that can be used: {pools}, hubs: {hubs}"));
            lines.extend(flaws.iter().map(|flaw| format!("catalogue: left out {flaw}")));
        }
    }
    lines
}
