//! The matcher against what lua5.4 answers, and against a naive matcher.

use super::*;
use proptest::prelude::*;

/// `string.match` with the captures shown, separated by commas; an error as its message.
fn matched(subject: &str, pattern: &str) -> Option<String> {
    let (anchored, bare) = match pattern.as_bytes() {
        [b'^', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let mut matcher = Matcher::new(subject.as_bytes(), bare);
    let mut scan = Scan::new(0, anchored);
    let (start, end) = match scan.next_match(&mut matcher, subject.len()) {
        Ok(found) => found?,
        Err(error) => return Some(error.to_string()),
    };
    let shown =
        (0..matcher.capture_count().max(1)).map(|index| match matcher.capture(index, start, end) {
            Ok(Captured::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            Ok(Captured::Position(position)) => position.to_string(),
            Err(error) => error.to_string(),
        });
    Some(shown.collect::<Vec<_>>().join(","))
}

/// `string.gsub` with a replacement string.
fn gsub(subject: &str, pattern: &str, replacement: &str) -> Result<String, PatternError> {
    let (anchored, bare) = match pattern.as_bytes() {
        [b'^', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let mut matcher = Matcher::new(subject.as_bytes(), bare);
    let mut scan = Scan::new(0, anchored);
    let mut out = Vec::new();
    let mut copied = 0;
    while let Some((start, end)) = scan.next_match(&mut matcher, subject.len())? {
        out.extend_from_slice(&subject.as_bytes()[copied..start]);
        expand(
            &mut out,
            replacement.as_bytes(),
            subject.as_bytes(),
            &matcher,
            start,
            end,
        )?;
        copied = end;
    }
    out.extend_from_slice(&subject.as_bytes()[copied..]);
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn matches() {
    let cases: &[(&str, &str, Option<&str>)] = &[
        ("hello world", "o w", Some("o w")),
        ("hello", "l+", Some("ll")),
        ("hello", "^l", None),
        ("hello", "lo$", Some("lo")),
        ("hello$", "o$$", Some("o$")),
        ("  x = 10 ", "(%w+)%s*=%s*(%d+)", Some("x,10")),
        ("abc", "()b()", Some("2,3")),
        ("abc", ".-", Some("")),
        ("abc", ".-c", Some("abc")),
        ("aaab", "a-b", Some("aaab")),
        ("aXb", "%u", Some("X")),
        ("f(a(b)c)d", "%b()", Some("(a(b)c)")),
        ("((", "%b()", None),
        ("THE (quick) fox", "%f[%a]%a+", Some("THE")),
        ("THE (quick) fox", "%((%a+)%)", Some("quick")),
        ("abab", "(ab)%1", Some("ab")),
        ("abac", "(ab)%1", None),
        ("x", "x?y?", Some("x")),
        ("", "", Some("")),
        ("a-b", "[a-]+", Some("a-")),
        ("]", "[]]", Some("]")),
        ("a]", "[^]]", Some("a")),
        ("a.b", "%.", Some(".")),
        ("abc", "((a)(b))", Some("ab,a,b")),
        ("a\0b", "%z", Some("\0")),
        ("0123456789", "(.+(.?)())", Some("0123456789,,11")),
        ("ab", "a$b", None),
        ("a$b", "a$b", Some("a$b")),
        ("x^y", "x^y", Some("x^y")),
    ];
    for &(subject, pattern, expected) in cases {
        assert_eq!(
            matched(subject, pattern).as_deref(),
            expected,
            "{subject:?} {pattern:?}"
        );
    }
}

#[test]
fn errors() {
    let cases = [
        ("%1", "invalid capture index %1"),
        ("(%1)", "invalid capture index %1"),
        ("%0", "invalid capture index %0"),
        ("(a", "unfinished capture"),
        ("a)", "invalid pattern capture"),
        ("%", "malformed pattern (ends with '%')"),
        ("[a", "malformed pattern (missing ']')"),
        ("[", "malformed pattern (missing ']')"),
        ("[^", "malformed pattern (missing ']')"),
        ("[]", "malformed pattern (missing ']')"),
        ("[%", "malformed pattern (missing ']')"),
        ("[a%", "malformed pattern (missing ']')"),
        ("%f", "missing '[' after '%f' in pattern"),
        ("%b", "malformed pattern (missing arguments to '%b')"),
        ("%ba", "malformed pattern (missing arguments to '%b')"),
    ];
    for (pattern, message) in cases {
        assert_eq!(matched("a", pattern).as_deref(), Some(message), "{pattern}");
    }
    assert_eq!(
        matched("a", &"()".repeat(33)).as_deref(),
        Some("too many captures")
    );
    assert_eq!(
        matched("b", "a[").as_deref(),
        None,
        "matching never gets to the fault"
    );
}

#[test]
fn depth_is_bounded() {
    let many = "a".repeat(80);
    assert_eq!(matched(&many, &".?".repeat(80)), Some(many));
    let many = "a".repeat(200_000);
    assert_eq!(
        matched(&many, &".?".repeat(200_000)).as_deref(),
        Some("pattern too complex")
    );
    assert_eq!(matched("", &"a*".repeat(1000)).as_deref(), Some(""));
    assert_eq!(
        matched(&many, "^.-b"),
        None,
        "the shortest match does not recurse"
    );
}

#[test]
fn substitution() {
    assert_eq!(gsub("hello", "", "-").unwrap(), "-h-e-l-l-o-");
    assert_eq!(gsub("abc d", "%w*", "x").unwrap(), "x x");
    assert_eq!(gsub("alo", ".", "%0%1%%").unwrap(), "aa%ll%oo%");
    assert_eq!(gsub("abc", "()b", "%1").unwrap(), "a2c");
    assert_eq!(gsub("aaa", "^a", "b").unwrap(), "baa");
    assert_eq!(gsub("alo", ".", "%2"), Err(PatternError::CaptureIndex(2)));
    assert_eq!(gsub("alo", ".", "%x"), Err(PatternError::Replacement));
    assert_eq!(gsub("alo", ".", "%"), Err(PatternError::Replacement));
}

/// All ends of matches of `pattern` at the start of `text`, by plain definition; for patterns of literals, `.`, and suffixes.
fn naive(text: &[u8], pattern: &[u8]) -> Option<usize> {
    let Some((&item, rest)) = pattern.split_first() else {
        return Some(0);
    };
    let fits = |byte: &u8| item == b'.' || item == *byte;
    let longest = text.iter().take_while(|b| fits(b)).count();
    let from = |count: usize, rest: &[u8]| naive(&text[count..], rest).map(|end| end + count);
    match rest.first() {
        Some(b'*') => (0..=longest)
            .rev()
            .find_map(|count| from(count, &rest[1..])),
        Some(b'+') => (1..=longest)
            .rev()
            .find_map(|count| from(count, &rest[1..])),
        Some(b'-') => (0..=longest).find_map(|count| from(count, &rest[1..])),
        Some(b'?') => (0..=longest.min(1))
            .rev()
            .find_map(|count| from(count, &rest[1..])),
        _ => {
            if longest > 0 {
                from(1, rest)
            } else {
                None
            }
        }
    }
}

proptest! {
    #[test]
    fn agrees_with_the_definition(text in "[ab]{0,12}", pattern in "([ab.][*+?-]?){0,6}") {
        let mut matcher = Matcher::new(text.as_bytes(), pattern.as_bytes());
        prop_assert_eq!(matcher.match_at(0), Ok(naive(text.as_bytes(), pattern.as_bytes())));
    }

    #[test]
    fn any_pattern_is_safe(text in "[ab%]{0,12}", pattern in "[ab.%\\[\\]^$()*+?bf1-]{0,14}") {
        let mut matcher = Matcher::new(text.as_bytes(), pattern.as_bytes());
        if let Ok(Some(end)) = matcher.match_at(0) {
            for index in 0..matcher.capture_count() {
                let _ = matcher.capture(index, 0, end);
            }
        }
    }

    /// A search passes over places by their first character only where an attempt would have found nothing, and neither hides
    /// nor finds faults of the pattern.
    #[test]
    fn candidates_miss_nothing(text in "[ab%(1]{0,12}", pattern in "[ab.%\\[\\]^$()*+?bf1-]{0,14}") {
        let mut matcher = Matcher::new(text.as_bytes(), pattern.as_bytes());
        let everywhere = (0..=text.len()).find_map(|start| match matcher.match_at(start) {
            Ok(end) => end.map(|end| Ok((start, end))),
            Err(error) => Some(Err(error)),
        });
        let mut matcher = Matcher::new(text.as_bytes(), pattern.as_bytes());
        let found = Scan::new(0, false).next_match(&mut matcher, text.len());
        prop_assert_eq!(found.transpose(), everywhere);
    }
}
