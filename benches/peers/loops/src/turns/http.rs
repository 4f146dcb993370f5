//! As much of HTTP as a server under load needs: requests without bodies, kept-alive connections.

use std::collections::HashMap;

/// What a client sends.
pub const REQUEST: &[u8] = b"GET /items/4711?page=3&sort=name HTTP/1.1\r\nHost: localhost:8080\r\n\
User-Agent: bench/1.0\r\nAccept: application/json, text/plain, */*\r\nAccept-Encoding: identity\r\n\
Cookie: session=0123456789abcdef0123456789abcdef\r\nConnection: keep-alive\r\n\r\n";

/// The whole of a response that never changes.
pub const STATIC_RESPONSE: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nhello, world\n";

const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// Length of the head at the start of `bytes`, its end included.
pub fn head_len(bytes: &[u8]) -> Option<usize> {
    let at = bytes.windows(4).position(|part| part == END_OF_HEAD)?;
    Some(at + END_OF_HEAD.len())
}

/// Length of the whole response at the start of `bytes`, once its head is there.
pub fn response_len(bytes: &[u8]) -> Option<usize> {
    let head_len = head_len(bytes)?;
    let head = str::from_utf8(&bytes[..head_len]).ok()?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    Some(head_len + length?.parse::<usize>().ok()?)
}

/// Answers a request as a handler of an application would: headers in a map, items in a list, a body of some KiB.
pub fn handle(head: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(head).into_owned();
    let mut lines = text.lines();
    let target = lines.next().unwrap_or_default().to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let items: Vec<String> = (0..64)
        .map(|n| format!("{{\"id\":{n},\"name\":\"item {n}\",\"target\":\"{target}\"}}"))
        .collect();
    let body = format!("[{}]", items.join(","));
    let kept = headers.get("connection").map_or("close", String::as_str);
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: {kept}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_as_long_as_it_says() {
        assert_eq!(response_len(STATIC_RESPONSE), Some(STATIC_RESPONSE.len()));
        let response = handle(REQUEST);
        assert_eq!(response_len(&response), Some(response.len()));
        assert_eq!(response_len(&response[..20]), None);
    }

    #[test]
    fn a_request_ends_with_an_empty_line() {
        assert_eq!(head_len(REQUEST), Some(REQUEST.len()));
        assert_eq!(head_len(&REQUEST[..REQUEST.len() - 1]), None);
    }
}
