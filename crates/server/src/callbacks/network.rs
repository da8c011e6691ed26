//! Which addresses a callback may go to, so that nobody's settings make the server reach inside.
//!
//! The check is made on the address that is connected to, each time: a name that meant a public address yesterday and
//! a private one today is refused today. Whatever a network has, these never: link-local addresses (among them those
//! where clouds keep their machines' credentials), multicast, and every form that hides an IPv4 address in an IPv6 one.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde::Deserialize;

/// Where a target lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    #[default]
    Public,
    /// 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7.
    Private,
    /// 127/8, ::1.
    Loopback,
}

/// Clouds answer here with credentials, inside of what is otherwise private.
const METADATA: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254)),
];

impl Network {
    pub fn allows(self, address: IpAddr) -> bool {
        kind(address) == Some(self)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Network::Public => "public",
            Network::Private => "private",
            Network::Loopback => "loopback",
        }
    }
}

fn kind(address: IpAddr) -> Option<Network> {
    if METADATA.contains(&address) {
        return None;
    }
    match address {
        IpAddr::V4(v4) => kind_v4(v4),
        IpAddr::V6(v6) => kind_v6(v6),
    }
}

fn kind_v4(v4: Ipv4Addr) -> Option<Network> {
    let [a, b, c, _] = v4.octets();
    match (a, b, c) {
        (127, ..) => Some(Network::Loopback),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => Some(Network::Private),
        (0, ..) | (169, 254, _) | (224.., ..) => None,
        // For protocols, documentation and measurements.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113) => None,
        _ => Some(Network::Public),
    }
}

fn kind_v6(v6: Ipv6Addr) -> Option<Network> {
    let [a, b, ..] = v6.segments();
    match (a, b) {
        _ if v6 == Ipv6Addr::LOCALHOST => Some(Network::Loopback),
        (0xfc00..=0xfdff, _) => Some(Network::Private),
        // Documentation, Teredo and 6to4.
        (0x2001, 0xdb8 | 0) | (0x2002, _) => None,
        (0x2000..=0x3fff, _) => Some(Network::Public),
        _ => None,
    }
}

/// Resolves names to what the network allows, and to nothing else.
pub struct Guarded(pub Network);

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let network = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(permitted(network, name.as_str(), found)?.into_iter()) as Addrs)
        })
    }
}

fn permitted(
    network: Network,
    name: &str,
    found: impl Iterator<Item = SocketAddr>,
) -> io::Result<Vec<SocketAddr>> {
    let allowed: Vec<SocketAddr> = found.filter(|address| network.allows(address.ip())).collect();
    match allowed.is_empty() {
        false => Ok(allowed),
        true => {
            let why = format!("{name} has no address in the network `{}`", network.as_str());
            Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Network, kind, permitted};

    fn all(addresses: &[&str]) -> Vec<Option<Network>> {
        addresses.iter().map(|address| kind(address.parse().unwrap())).collect()
    }

    #[test]
    fn each_address_is_in_one_network() {
        let public = ["1.1.1.1", "172.15.0.1", "172.32.0.1", "100.128.0.1", "223.255.255.1", "2606:4700::1"];
        assert!(all(&public).iter().all(|kind| *kind == Some(Network::Public)), "{:?}", all(&public));
        let private = ["10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd12::1", "fc00::1"];
        assert!(all(&private).iter().all(|kind| *kind == Some(Network::Private)), "{:?}", all(&private));
        assert!(all(&["127.0.0.1", "127.9.9.9", "::1"]).iter().all(|kind| *kind == Some(Network::Loopback)));
    }

    #[test]
    fn what_reaches_inside_is_in_none() {
        let never = [
            "169.254.169.254",
            "100.100.100.200",
            "fd00:ec2::254",
            "fe80::1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "ff02::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:1.1.1.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:0:1::1",
            "192.0.2.1",
            "198.18.0.1",
        ];
        assert!(all(&never).iter().all(Option::is_none), "{:?}", all(&never));
    }

    #[test]
    fn a_name_that_turns_inwards_is_not_followed() {
        let of = |address: &str| [format!("{address}:0").parse().unwrap()].into_iter();
        assert!(permitted(Network::Public, "app.example", of("1.1.1.1")).is_ok());
        let refused = permitted(Network::Public, "app.example", of("127.0.0.1")).unwrap_err();
        assert!(refused.to_string().contains("app.example has no address in the network `public`"));
        let both = of("10.0.0.1").chain(of("1.1.1.1"));
        assert_eq!(permitted(Network::Public, "app.example", both).unwrap().len(), 1);
    }
}
