//! Names and numbers of hosts.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use super::message;

/// Which addresses a socket may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Any.
    Any,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Whether an address is of this family.
    pub fn allows(self, address: &SocketAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }

    /// As `getsockname` and `dns.getaddrinfo` name the family of an address.
    pub fn name_of(address: &SocketAddr) -> &'static str {
        match address {
            SocketAddr::V4(_) => "inet",
            SocketAddr::V6(_) => "inet6",
        }
    }
}

/// The addresses of a host.
#[derive(Debug, PartialEq, Eq)]
pub enum Host {
    /// Known without asking anybody.
    Known(Vec<SocketAddr>),
    /// To be asked for with [`resolve`], which may take its time.
    Named(String),
}

/// What `host` means: `*` is any address of this machine.
pub fn parse(host: &str, port: u16, family: Family) -> Host {
    let any = match family {
        Family::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        Family::Any | Family::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    };
    match host {
        "*" => Host::Known(vec![SocketAddr::new(any, port)]),
        _ => match host.parse() {
            Ok(ip) => Host::Known(vec![SocketAddr::new(ip, port)]),
            Err(_) => Host::Named(host.to_owned()),
        },
    }
}

/// Asks the system for the addresses of a host. May block for seconds.
///
/// # Errors
///
/// In words for the program: the host is not known, or nobody could be asked.
pub fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    match (host, port).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect()),
        Err(error) => Err(resolve_message(&error)),
    }
}

/// The resolver's own messages come without a code, behind a fixed beginning.
fn resolve_message(error: &io::Error) -> String {
    if error.raw_os_error().is_some() {
        return message::of(error).into_owned();
    }
    let text = error.to_string();
    let text = text
        .strip_prefix("failed to lookup address information: ")
        .unwrap_or(&text);
    match text {
        "Name or service not known" | "No address associated with hostname" => {
            message::UNKNOWN_HOST.to_owned()
        }
        "Temporary failure in name resolution" => "temporary failure in name resolution".to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_need_no_asking() {
        let known = |text: &str| Host::Known(vec![text.parse().unwrap()]);
        assert_eq!(parse("127.0.0.1", 80, Family::Any), known("127.0.0.1:80"));
        assert_eq!(parse("::1", 80, Family::Any), known("[::1]:80"));
        assert_eq!(parse("*", 80, Family::Any), known("0.0.0.0:80"));
        assert_eq!(parse("*", 80, Family::V6), known("[::]:80"));
        assert_eq!(
            parse("localhost", 80, Family::V4),
            Host::Named("localhost".to_owned())
        );
    }

    #[test]
    fn names_are_asked_for() {
        let addresses = resolve("localhost", 9).unwrap();
        assert!(addresses.iter().all(|address| address.ip().is_loopback()));
        assert!(resolve("no.such.host.invalid", 9).is_err());
    }
}
