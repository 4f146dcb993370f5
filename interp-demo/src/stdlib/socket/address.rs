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

    /// As `socket.connect` names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "unspec",
            Self::V4 => "inet",
            Self::V6 => "inet6",
        }
    }

    /// Any address of this machine, where the family is known.
    pub fn unspecified(self) -> Option<SocketAddr> {
        let ip: IpAddr = match self {
            Self::Any => return None,
            Self::V4 => Ipv4Addr::UNSPECIFIED.into(),
            Self::V6 => Ipv6Addr::UNSPECIFIED.into(),
        };
        Some(SocketAddr::new(ip, 0))
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

/// The port of a service by its name, as the system's table of services has it. Needs no network.
pub fn port_of(service: &str) -> Option<u16> {
    if service.is_empty() || service.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that is no port: the system would cut it off.
        return None;
    }
    let hints = dns_lookup::AddrInfoHints {
        socktype: libc::SOCK_STREAM,
        ..dns_lookup::AddrInfoHints::default()
    };
    let mut found = dns_lookup::getaddrinfo(None, Some(service), Some(hints)).ok()?;
    Some(found.next()?.ok()?.sockaddr.port())
}

/// The name of a host by one of its addresses. May block for seconds.
///
/// # Errors
///
/// In words for the program: nobody knows it.
pub fn name_of(ip: IpAddr) -> Result<String, String> {
    match dns_lookup::getnameinfo(&SocketAddr::new(ip, 0), libc::NI_NAMEREQD) {
        Ok((name, _)) => Ok(name),
        Err(_) => Err(message::UNKNOWN_HOST.to_owned()),
    }
}

/// The names of a host and a service by their address; numbers where there are no names. May block for seconds.
///
/// # Errors
///
/// In words for the program: nobody could be asked.
pub fn names_of(address: SocketAddr) -> Result<(String, String), String> {
    dns_lookup::getnameinfo(&address, 0).map_err(|_| message::UNKNOWN_HOST.to_owned())
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
    fn services_have_ports() {
        assert_eq!(port_of("no such service"), None);
        assert_eq!(port_of("70000"), None);
        // Where there is a table of services at all.
        assert!(matches!(port_of("http"), None | Some(80)));
    }

    #[test]
    fn names_are_asked_for() {
        let addresses = resolve("localhost", 9).unwrap();
        assert!(addresses.iter().all(|address| address.ip().is_loopback()));
        assert!(resolve("no.such.host.invalid", 9).is_err());
    }
}
