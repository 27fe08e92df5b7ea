//! Choice among pools, by weight and without randomness.

use testplatform_apis::catalogue::Pool;

use testplatform_apis::rendezvous::{self, draw_number};

/// The pool with the highest draw. Each pool has as many draws as it has weight, so that its share of all claims is that of
/// its weight. A pool of weight 0 is drawn only by claims that name it. Of equals the first in the catalogue's order.
pub(super) fn choose_by_weight<'a>(uid: &str, pools: &[&'a Pool], named: bool) -> Option<&'a Pool> {
    rendezvous::choose_highest(pools, |pool| {
        let tickets = if named { pool.weight.max(1) } else { pool.weight };
        (0..tickets)
            .map(|i| draw_number(&[uid, &pool.hub, pool.namespace.as_str(), pool.name.as_str()], i))
            .max()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn pool(name: &str, weight: u32) -> Pool {
        serde_json::from_value(json!({
            "name": name, "namespace": "ns", "hub": "h", "allowedTenants": ["*"], "weight": weight,
            "subject": { "name": "s", "namespace": "ns" },
        }))
        .unwrap()
    }

    #[test]
    fn shares_follow_weights_and_stay_when_another_pool_comes() {
        let pools = [pool("a", 1), pool("b", 3), pool("never", 0)];
        let few: Vec<_> = pools.iter().collect();
        let another = pool("c", 2);
        let more: Vec<_> = few.iter().copied().chain([&another]).collect();
        let mut shares = BTreeMap::<_, u32>::new();
        for i in 0..4000 {
            let uid = format!("uid-{i}");
            let chosen = choose_by_weight(&uid, &few, false).unwrap();
            *shares.entry(chosen.name.as_str()).or_default() += 1;
            let then = choose_by_weight(&uid, &more, false).unwrap();
            assert!(then.name == chosen.name || then.name.as_str() == "c", "it moved between old pools");
        }
        assert!((900..1100).contains(&shares["a"]) && shares["a"] + shares["b"] == 4000, "{shares:?}");
        assert_eq!(choose_by_weight("u", &[&pools[2]], false), None);
        assert_eq!(choose_by_weight("u", &[&pools[2]], true), Some(&pools[2]));
    }
}
