//! One of several, by weight and without chance.

use testplatform_apis::catalogue::Pool;

/// The pool with the highest draw. Each pool has as many draws as it has weight, so that its share of all claims is that of
/// its weight; in whole numbers, so that every machine draws the same. A pool of weight 0 is drawn only by claims that name it.
pub(super) fn choose<'a>(uid: &str, pools: &[&'a Pool], named: bool) -> Option<&'a Pool> {
    let draws = |pool: &Pool| {
        let tickets = if named { pool.weight.max(1) } else { pool.weight };
        (0..tickets).map(|i| draw(&[uid, &pool.hub, pool.namespace.as_str(), pool.name.as_str()], i)).max()
    };
    // The first of equals: the catalogue's order.
    let mut best: Option<(u64, &Pool)> = None;
    for pool in pools {
        if let Some(drawn) = draws(pool)
            && best.is_none_or(|(highest, _)| drawn > highest)
        {
            best = Some((drawn, pool));
        }
    }
    best.map(|(_, pool)| pool)
}

/// FNV-1a over the parts, each closed by a byte that no text holds, then the finalizer of `SplitMix64`, which spreads what
/// differs only in the last bytes.
fn draw(parts: &[&str], ticket: u32) -> u64 {
    let bytes = parts.iter().flat_map(|p| p.bytes().chain([0xff])).chain(ticket.to_le_bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
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
            let chosen = choose(&uid, &few, false).unwrap();
            *shares.entry(chosen.name.as_str()).or_default() += 1;
            let then = choose(&uid, &more, false).unwrap();
            assert!(then.name == chosen.name || then.name.as_str() == "c", "it moved between old pools");
        }
        assert!((900..1100).contains(&shares["a"]) && shares["a"] + shares["b"] == 4000, "{shares:?}");
        assert_eq!(choose("u", &[&pools[2]], false), None);
        assert_eq!(choose("u", &[&pools[2]], true), Some(&pools[2]));
    }

    /// A choice must not change with a new version while a claim has no writer yet.
    #[test]
    fn the_draw_is_fixed() {
        assert_eq!(draw(&["uid", "hub", "ns", "pool"], 0), 13_167_186_767_945_876_559);
    }
}
