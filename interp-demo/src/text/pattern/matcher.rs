//! The backtracking matcher.

use smallvec::SmallVec;

use super::PatternError;
use super::class::{self, Class};

/// The most captures that a pattern may have.
const MAX_CAPTURES: usize = 32;
/// How deep matching may recurse.
const MAX_DEPTH: u32 = 200;
/// Steps before a matcher asks whether to give up.
const STEPS: usize = 1 << 14;
/// Characters that are passed over in the time of a step.
const CHARACTERS_A_STEP: usize = 8;

type Found = Result<Option<usize>, PatternError>;

/// What a capture holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captured<'a> {
    /// A piece of the subject.
    Text(&'a [u8]),
    /// A position, counted from 1.
    Position(usize),
}

#[derive(Clone, Copy)]
enum Extent {
    /// The parenthesis is still open.
    Open,
    /// `()`: only the position counts.
    Position,
    Bytes(usize),
}

#[derive(Clone, Copy)]
struct Capture {
    start: usize,
    extent: Extent,
}

/// One pattern (without a leading anchor) against one subject, with the captures of the last attempt.
pub struct Matcher<'s, 'p> {
    subject: &'s [u8],
    pattern: &'p [u8],
    captures: SmallVec<[Capture; MAX_CAPTURES]>,
    /// What [`Matcher::find_lead`] has found, once a search has asked.
    lead: Option<Option<(usize, usize)>>,
    depth: u32,
    /// Asked now and then whether to give up.
    stop: Option<&'p dyn Fn() -> bool>,
    /// How much is done before it is asked again.
    left: usize,
}

impl<'s, 'p> Matcher<'s, 'p> {
    /// A matcher that has not tried anything yet.
    #[must_use]
    pub fn new(subject: &'s [u8], pattern: &'p [u8]) -> Self {
        Self {
            subject,
            pattern,
            captures: SmallVec::new(),
            lead: None,
            depth: 0,
            stop: None,
            left: STEPS,
        }
    }

    /// The same, which asks `stop` now and then whether to give up: backtracking may take for ever.
    #[must_use]
    pub fn stopping(mut self, stop: &'p dyn Fn() -> bool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Counts steps that were done.
    #[inline]
    fn spend(&mut self, steps: usize) -> Result<(), PatternError> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.ask(),
        }
    }

    #[cold]
    fn ask(&mut self) -> Result<(), PatternError> {
        self.left = STEPS;
        match self.stop {
            Some(stop) if stop() => Err(PatternError::Stopped),
            _ => Ok(()),
        }
    }

    /// Tries to match at `start` (not searching further): the end of the match, if there is one.
    ///
    /// # Errors
    /// When the pattern is malformed where matching gets to, or needs too deep a recursion.
    pub fn match_at(&mut self, start: usize) -> Result<Option<usize>, PatternError> {
        self.captures.clear();
        self.depth = 0;
        self.matches(start, 0)
    }

    /// The first place from `start` on where [`Matcher::match_at`] may find a match; `None` if there is none. A pattern that
    /// begins with a character that must be there, perhaps in captures, is told by it without an attempt.
    ///
    /// # Errors
    /// When the search was stopped.
    #[inline]
    pub fn candidate(&mut self, start: usize) -> Result<Option<usize>, PatternError> {
        let lead = match self.lead {
            Some(lead) => lead,
            None => *self.lead.insert(self.find_lead()),
        };
        let Some((p, end)) = lead else {
            return Ok(Some(start));
        };
        let rest = &self.subject[start..];
        let skipped = match self.pattern[p] {
            b'.' => (!rest.is_empty()).then_some(0),
            b'%' => {
                let class = Class::new(self.pattern[p + 1]);
                rest.iter().position(|&byte| class.has(byte))
            }
            b'[' => {
                let set = &self.pattern[p + 1..end - 1];
                rest.iter().position(|&byte| class::in_set(byte, set))
            }
            own => memchr::memchr(own, rest),
        };
        self.spend(skipped.unwrap_or(rest.len()) / CHARACTERS_A_STEP)?;
        Ok(skipped.map(|skipped| start + skipped))
    }

    /// Where the item begins and ends that the first character of any match belongs to. `None`: there need not be one, or
    /// nothing simple tells, as with a malformed pattern.
    fn find_lead(&self) -> Option<(usize, usize)> {
        let opened = self.pattern.iter().take_while(|&&byte| byte == b'(');
        let p = opened.count();
        let first = *self.pattern.get(p)?;
        let second = self.pattern.get(p + 1);
        let is_single = match first {
            b')' => false,
            b'$' => second.is_some(),
            b'%' => !matches!(second, Some(b'b' | b'f' | b'0'..=b'9')),
            _ => p <= MAX_CAPTURES,
        };
        if !is_single || p > MAX_CAPTURES {
            return None;
        }
        let end = self.item_end(p).ok()?;
        let is_needed = !matches!(self.pattern.get(end), Some(b'?' | b'*' | b'-'));
        is_needed.then_some((p, end))
    }

    /// The number of captures of the last match.
    #[must_use]
    pub fn capture_count(&self) -> usize {
        self.captures.len()
    }

    /// Capture `index` (from 0) of the last match, which went from `start` to `end`. A pattern without captures has the whole
    /// match as its only one.
    ///
    /// # Errors
    /// When there is no such capture, or it was never closed.
    pub fn capture(
        &self,
        index: usize,
        start: usize,
        end: usize,
    ) -> Result<Captured<'s>, PatternError> {
        let Some(&capture) = self.captures.get(index) else {
            return if index == 0 {
                Ok(Captured::Text(&self.subject[start..end]))
            } else {
                Err(PatternError::CaptureIndex(index as i32 + 1))
            };
        };
        match capture.extent {
            Extent::Open => Err(PatternError::UnfinishedCapture),
            Extent::Position => Ok(Captured::Position(capture.start + 1)),
            Extent::Bytes(size) => Ok(Captured::Text(
                &self.subject[capture.start..capture.start + size],
            )),
        }
    }

    /// Matches the pattern from `p` on against the subject from `s` on.
    fn matches(&mut self, s: usize, p: usize) -> Found {
        if self.depth == MAX_DEPTH {
            return Err(PatternError::TooComplex);
        }
        self.spend(1)?;
        self.depth += 1;
        let found = self.run(s, p);
        self.depth -= 1;
        found
    }

    fn run(&mut self, mut s: usize, mut p: usize) -> Found {
        loop {
            match self.pattern[p..] {
                [] => return Ok(Some(s)),
                [b'(', b')', ..] => return self.open(s, p + 2, Extent::Position),
                [b'(', ..] => return self.open(s, p + 1, Extent::Open),
                [b')', ..] => return self.close(s, p + 1),
                [b'$'] => return Ok((s == self.subject.len()).then_some(s)),
                [b'%', b'b', ..] => {
                    let Some(end) = self.balance(s, p + 2)? else {
                        return Ok(None);
                    };
                    (s, p) = (end, p + 4);
                    continue;
                }
                [b'%', b'f', ..] => {
                    let set = p + 2;
                    if self.pattern.get(set) != Some(&b'[') {
                        return Err(PatternError::FrontierWithoutSet);
                    }
                    let end = self.item_end(set)?;
                    let inside = |byte| class::in_set(byte, &self.pattern[set + 1..end - 1]);
                    let before = if s == 0 { 0 } else { self.subject[s - 1] };
                    let after = self.subject.get(s).copied().unwrap_or(0);
                    if inside(before) || !inside(after) {
                        return Ok(None);
                    }
                    p = end;
                    continue;
                }
                [b'%', digit @ b'0'..=b'9', ..] => {
                    let Some(end) = self.back_reference(s, digit)? else {
                        return Ok(None);
                    };
                    (s, p) = (end, p + 2);
                    continue;
                }
                _ => {}
            }
            // A single character, perhaps repeated.
            let end = self.item_end(p)?;
            match self.pattern.get(end) {
                Some(b'?') => {
                    if self.item_matches(s, p, end)
                        && let Some(found) = self.matches(s + 1, end + 1)?
                    {
                        return Ok(Some(found));
                    }
                    p = end + 1;
                }
                // A repetition that matches nothing goes on without recursion, as patterns with many of them rely on.
                Some(b'*' | b'-') if !self.item_matches(s, p, end) => p = end + 1,
                Some(b'*') => return self.longest(s, p, end),
                Some(b'+') => {
                    return if self.item_matches(s, p, end) {
                        self.longest(s + 1, p, end)
                    } else {
                        Ok(None)
                    };
                }
                Some(b'-') => return self.shortest(s, p, end),
                _ => {
                    if !self.item_matches(s, p, end) {
                        return Ok(None);
                    }
                    (s, p) = (s + 1, end);
                }
            }
        }
    }

    /// Where the single-character item at `p` ends.
    fn item_end(&self, p: usize) -> Result<usize, PatternError> {
        match self.pattern[p] {
            b'%' if p + 1 == self.pattern.len() => Err(PatternError::EndsWithPercent),
            b'%' => Ok(p + 2),
            b'[' => {
                let mut at = p + 1;
                if self.pattern.get(at) == Some(&b'^') {
                    at += 1;
                }
                // The first character belongs to the set even if it is a bracket.
                loop {
                    match self.pattern.get(at) {
                        None => return Err(PatternError::MissingBracket),
                        Some(b'%') => at += 2,
                        Some(_) => at += 1,
                    }
                    if self.pattern.get(at) == Some(&b']') {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    /// Whether the item between `p` and `end` matches the character at `s`.
    fn item_matches(&self, s: usize, p: usize, end: usize) -> bool {
        let Some(&byte) = self.subject.get(s) else {
            return false;
        };
        match self.pattern[p] {
            b'.' => true,
            b'%' => class::matches(byte, self.pattern[p + 1]),
            b'[' => class::in_set(byte, &self.pattern[p + 1..end - 1]),
            own => own == byte,
        }
    }

    /// How many characters from `s` on the item between `p` and `end` matches.
    fn run_length(&self, s: usize, p: usize, end: usize) -> usize {
        let text = &self.subject[s..];
        let mismatch = match self.pattern[p] {
            b'.' => None,
            b'%' => {
                let class = Class::new(self.pattern[p + 1]);
                text.iter().position(|&byte| !class.has(byte))
            }
            b'[' => {
                let set = &self.pattern[p + 1..end - 1];
                text.iter().position(|&byte| !class::in_set(byte, set))
            }
            own => text.iter().position(|&byte| byte != own),
        };
        mismatch.unwrap_or(text.len())
    }

    fn longest(&mut self, s: usize, p: usize, end: usize) -> Found {
        let mut count = self.run_length(s, p, end);
        self.spend(count / CHARACTERS_A_STEP)?;
        loop {
            if let Some(found) = self.matches(s + count, end + 1)? {
                return Ok(Some(found));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    fn shortest(&mut self, mut s: usize, p: usize, end: usize) -> Found {
        loop {
            if let Some(found) = self.matches(s, end + 1)? {
                return Ok(Some(found));
            }
            if !self.item_matches(s, p, end) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn open(&mut self, s: usize, p: usize, extent: Extent) -> Found {
        if self.captures.len() == MAX_CAPTURES {
            return Err(PatternError::TooManyCaptures);
        }
        self.captures.push(Capture { start: s, extent });
        let found = self.matches(s, p)?;
        if found.is_none() {
            self.captures.pop();
        }
        Ok(found)
    }

    fn close(&mut self, s: usize, p: usize) -> Found {
        let open = self
            .captures
            .iter()
            .rposition(|capture| matches!(capture.extent, Extent::Open));
        let index = open.ok_or(PatternError::UnopenedCapture)?;
        self.captures[index].extent = Extent::Bytes(s - self.captures[index].start);
        let found = self.matches(s, p)?;
        if found.is_none() {
            self.captures[index].extent = Extent::Open;
        }
        Ok(found)
    }

    fn balance(&mut self, s: usize, p: usize) -> Found {
        let [open, close, ..] = self.pattern[p..] else {
            return Err(PatternError::BalanceWithoutArguments);
        };
        if self.subject.get(s) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1_usize;
        for (at, &byte) in self.subject.iter().enumerate().skip(s + 1) {
            // The closing character is looked at first: the two may be the same.
            if byte == close {
                depth -= 1;
                if depth == 0 {
                    self.spend((at - s) / CHARACTERS_A_STEP)?;
                    return Ok(Some(at + 1));
                }
            } else if byte == open {
                depth += 1;
            }
        }
        self.spend((self.subject.len() - s) / CHARACTERS_A_STEP)?;
        Ok(None)
    }

    fn back_reference(&self, s: usize, digit: u8) -> Found {
        let number = i32::from(digit) - i32::from(b'0');
        let index = usize::try_from(number - 1).ok();
        let capture = index
            .and_then(|index| self.captures.get(index))
            .ok_or(PatternError::CaptureIndex(number))?;
        match capture.extent {
            Extent::Open => Err(PatternError::CaptureIndex(number)),
            Extent::Position => Ok(None),
            Extent::Bytes(size) => {
                let text = &self.subject[capture.start..capture.start + size];
                Ok(self.subject[s..].starts_with(text).then_some(s + size))
            }
        }
    }
}
