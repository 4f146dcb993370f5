//! What a client sends, and the answer that it must get: both made from a seed, so that every server gets the same.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::fmt::Write;

/// How many items a document has.
const ITEMS: std::ops::Range<u32> = 25..50;

/// A document as it is sent.
pub struct Document {
    /// A line with the number of bytes, and the JSON.
    pub request: String,
    /// The beginning of the line that comes back.
    pub answer: String,
}

/// Makes documents.
pub struct Documents(SmallRng);

impl Documents {
    /// Those of one client.
    pub fn new(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }

    /// How long the line is on which the next one travels, in microseconds.
    pub fn latency_us(&mut self) -> u64 {
        self.0.random_range(1_000..=5_000)
    }

    /// The next one.
    pub fn next(&mut self, id: u32) -> Document {
        let mut text = String::new();
        let (mut total, mut tags) = (0, 0);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            r#"{{"id": {id}, "customer": {{"name": "customer {}", "city": "city {}"}}, "items": ["#,
            self.0.random::<u16>(),
            self.0.random_range(0..200)
        );
        for item in 0..self.0.random_range(ITEMS) {
            let (price, count) = (self.0.random_range(1..2_000), self.0.random_range(1..9));
            let tag_count = self.0.random_range(1..4);
            total += price * count;
            tags += tag_count;
            let comma = if item == 0 { "" } else { ", " };
            let _ = write!(
                text,
                r#"{comma}{{"sku": "{:08x}", "price": {price}, "count": {count}, "note": "line \"{item}\" of {id}", "tags": ["#,
                self.0.random::<u32>()
            );
            for tag in 0..tag_count {
                let comma = if tag == 0 { "" } else { ", " };
                let _ = write!(text, r#"{comma}"tag {}""#, self.0.random_range(0..1_000));
            }
            text.push_str("]}");
        }
        text.push_str("]}");
        Document {
            request: format!("{}\n{text}", text.len()),
            answer: format!("{id} {total} {tags} "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_json_and_come_to_their_answer() {
        let document = Documents::new(1).next(7);
        let (length, text) = document.request.split_once('\n').unwrap();
        assert_eq!(length.parse(), Ok(text.len()));
        let json: serde_json::Value = serde_json::from_str(text).unwrap();
        let items = json["items"].as_array().unwrap();
        let total: i64 = items
            .iter()
            .map(|item| item["price"].as_i64().unwrap() * item["count"].as_i64().unwrap())
            .sum();
        let tags: usize = items
            .iter()
            .map(|item| item["tags"].as_array().unwrap().len())
            .sum();
        assert_eq!(document.answer, format!("7 {total} {tags} "));
    }

    #[test]
    fn a_seed_makes_the_same_documents() {
        let (mut a, mut b) = (Documents::new(3), Documents::new(3));
        assert_eq!(a.next(1).request, b.next(1).request);
        assert_eq!(a.latency_us(), b.latency_us());
    }
}
