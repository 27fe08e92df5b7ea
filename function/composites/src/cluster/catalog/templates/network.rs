//! Validation of addresses and networks: their format, the template's permission, and overlaps.

use std::net::IpAddr;

use testplatform_apis::{
    condition::Request,
    template::{capability::Capabilities, companions::Network, entry::NetworkField, kind::NetworkVariables},
};

use super::FieldRefusal;

/// Checks the networks that a claim requests.
pub(super) fn check_networks(
    requested: &Network,
    allowed: &[NetworkField],
    can: &Capabilities,
    variables: &NetworkVariables,
) -> Vec<FieldRefusal> {
    let mut found = Vec::new();
    let mut refuse = |path: &str, sentence: &str| {
        let path = format!("spec.network.{path}");
        found.push(FieldRefusal { reason: Request::FieldRefused, path, sentence: sentence.to_owned() });
    };
    let internal = requested.internal.clone().unwrap_or_default();
    let external = requested.external.clone().unwrap_or_default();
    let mut blocks: Vec<(&str, CidrBlock)> = Vec::new();
    for (path, field, text) in [
        ("podCIDR", NetworkField::PodCidr, &requested.pod_cidr),
        ("serviceCIDR", NetworkField::ServiceCidr, &requested.service_cidr),
        ("machineCIDR", NetworkField::MachineCidr, &requested.machine_cidr),
    ] {
        let Some(text) = text else { continue };
        if !allowed.contains(&field) {
            refuse(path, "cannot be set, because the template does not allow it");
            continue;
        }
        match CidrBlock::parse(text) {
            Err(sentence) => refuse(path, sentence),
            Ok(block) if block.bits == 128 && !can.ipv6 => refuse(path, "must be of IPv4"),
            Ok(block) => {
                if let Some((other, _)) = blocks.iter().find(|(_, b)| b.overlaps(&block)) {
                    refuse(path, &format!("overlaps with {other}"));
                }
                blocks.push((path, block));
            }
        }
    }
    for (path, field, text, goes) in [
        ("internal.networkID", NetworkField::Internal, &internal.network_id, &variables.internal_network_id),
        ("internal.subnetID", NetworkField::Internal, &internal.subnet_id, &variables.internal_subnet_id),
        ("external.networkID", NetworkField::External, &external.network_id, &variables.external_network_id),
    ] {
        let Some(text) = text else { continue };
        if !allowed.contains(&field) || goes.is_none() {
            refuse(path, "cannot be set, because the template does not allow it");
        } else if !is_uuid(text) {
            refuse(path, "is not a UUID");
        }
    }
    if !requested.dns_nameservers.is_empty() && !allowed.contains(&NetworkField::DnsNameservers) {
        refuse("dnsNameservers", "cannot be set, because the template does not allow it");
    } else {
        let wrong =
            requested.dns_nameservers.iter().enumerate().filter(|(_, a)| a.parse::<IpAddr>().is_err());
        wrong.for_each(|(i, _)| refuse(&format!("dnsNameservers[{i}]"), "is not an IP address"));
    }
    found
}

/// A block of addresses.
struct CidrBlock {
    first: u128,
    prefix: u32,
    /// 32 or 128.
    bits: u32,
}

impl CidrBlock {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let none = "is not a block of addresses such as 10.132.0.0/14";
        let (address, prefix) = text.split_once('/').ok_or(none)?;
        let address: IpAddr = address.parse().map_err(|_| none)?;
        if prefix.is_empty() || !prefix.bytes().all(|b| b.is_ascii_digit()) {
            return Err(none);
        }
        let prefix: u32 = prefix.parse().map_err(|_| none)?;
        let (first, bits) = match address {
            IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32),
            IpAddr::V6(v6) => (u128::from(v6), 128),
        };
        if prefix > bits {
            return Err(none);
        }
        let block = Self { first, prefix, bits };
        if first & block.mask() == first { Ok(block) } else { Err("has host bits set") }
    }

    /// The bits that all its addresses share.
    fn mask(&self) -> u128 {
        let host = self.bits - self.prefix;
        u128::MAX.checked_shl(host).unwrap_or(0)
    }

    fn overlaps(&self, other: &Self) -> bool {
        let mask = self.mask() & other.mask();
        self.bits == other.bits && self.first & mask == other.first & mask
    }
}

fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == lengths.len()
        && parts.iter().zip(lengths).all(|(p, l)| p.len() == l && p.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_and_know_whom_they_overlap() {
        let block = |text: &str| CidrBlock::parse(text).unwrap();
        for bad in [
            "",
            "10.0.0.0",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.1/24",
            "x/8",
            "10.0.0.0/+8",
            "::1/64",
            "::/129",
        ] {
            assert!(CidrBlock::parse(bad).is_err(), "{bad}");
        }
        assert!(block("0.0.0.0/0").overlaps(&block("10.0.0.0/8")));
        assert!(block("10.132.0.0/14").overlaps(&block("10.133.0.0/16")));
        assert!(!block("10.132.0.0/14").overlaps(&block("10.136.0.0/14")));
        assert!(!block("::/0").overlaps(&block("10.0.0.0/8")));
        assert!(block("fd00::/8").overlaps(&block("fd01::/48")));
    }

    #[test]
    fn uuids() {
        assert!(is_uuid("2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a10"));
        assert!(!is_uuid("2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a1g") && !is_uuid("") && !is_uuid("network"));
    }
}
