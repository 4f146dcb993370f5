//! `gsub`: with a replacement string all at once, with a function or a table as a loop that callbacks interrupt.

use super::find::{capture_value, push_captures, raise, split_anchor};
use crate::text::pattern::{Matcher, Scan, expand};
use crate::vm::access::Access;
use crate::vm::buffer::Buffer;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

/// Slots.
const SUBJECT: usize = 0;
const PATTERN: usize = 1;
const REPLACEMENT: usize = 2;
const PROGRESS: usize = 3;

/// A number takes at most so many bytes.
const MAX_DIGITS: usize = 32;

/// How far a substitution has got.
struct Progress {
    out: Buffer,
    scan: Scan,
    /// Up to here the subject has been copied or replaced.
    copied: usize,
    /// The match that is being replaced.
    current: (usize, usize),
    left: i64,
    count: i64,
    /// Whether anything has been replaced: if not, the subject itself is the result.
    changed: bool,
}

pub(super) fn gsub<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let subject = call.check_str(SUBJECT)?.as_bytes();
    let pattern = call.check_str(PATTERN)?.as_bytes();
    let is_text = match call.get(REPLACEMENT) {
        Value::Int(_) | Value::Float(_) | Value::Str(_) => {
            call.check_str(REPLACEMENT)?;
            true
        }
        Value::Table(_) | Value::Closure(_) | Value::Native(_) => false,
        _ => return Err(call.type_error(REPLACEMENT, "string/function/table")),
    };
    let left = call.opt_int(PROGRESS, subject.len() as i64 + 1)?;
    let (anchored, _) = split_anchor(pattern);
    let progress = Progress {
        out: Buffer::new(),
        scan: Scan::new(0, anchored),
        copied: 0,
        current: (0, 0),
        left,
        count: 0,
        changed: is_text,
    };
    if is_text {
        return replace_by_text(call, progress);
    }
    call.truncate(PROGRESS);
    let progress = UserData::new(call.ctx, progress);
    call.push(progress.into());
    replace_by_callback(call)
}

fn replace_by_text<'gc>(call: &mut Call<'gc>, mut progress: Progress) -> NativeResult<'gc> {
    let (subject, pattern) = subject_and_pattern(call);
    let Value::Str(replacement) = call.get(REPLACEMENT) else {
        return call.ret0();
    };
    let replacement = replacement.as_bytes();
    let ctx = call.ctx;
    let stop = || ctx.is_to_stop();
    let mut matcher = Matcher::new(subject, pattern).stopping(&stop);
    // What each of its directives may stand for is a part of the match.
    let directives = memchr::memchr_iter(b'%', replacement).count();
    while let Some((start, end)) = progress.next_match(call, &mut matcher, subject)? {
        let most = directives.saturating_mul((end - start).max(MAX_DIGITS));
        progress
            .out
            .make_room(call.ctx, replacement.len().saturating_add(most))?;
        expand(
            &mut progress.out,
            replacement,
            subject,
            &matcher,
            start,
            end,
        )
        .map_err(|error| raise(call, error))?;
    }
    finish(call, &mut progress)
}

fn subject_and_pattern<'gc>(call: &Call<'gc>) -> (&'gc [u8], &'gc [u8]) {
    match (call.get(SUBJECT), call.get(PATTERN)) {
        (Value::Str(subject), Value::Str(pattern)) => {
            (subject.as_bytes(), split_anchor(pattern.as_bytes()).1)
        }
        _ => (b"", b""),
    }
}

fn finish<'gc>(call: &mut Call<'gc>, progress: &mut Progress) -> NativeResult<'gc> {
    let count = Value::Int(progress.count);
    let result = if progress.count == 0 || !progress.changed {
        call.get(SUBJECT)
    } else {
        let (subject, _) = subject_and_pattern(call);
        progress
            .out
            .make_room(call.ctx, subject.len() - progress.copied)?;
        progress.out.extend_from_slice(&subject[progress.copied..]);
        progress.copied = subject.len();
        call.ctx.try_string(&progress.out)?
    };
    call.ret(&[result, count])
}

impl Progress {
    /// The next match, after what stands before it has been copied.
    fn next_match<'gc>(
        &mut self,
        call: &mut Call<'gc>,
        matcher: &mut Matcher<'_, '_>,
        subject: &[u8],
    ) -> Result<Option<(usize, usize)>, Error<'gc>> {
        if self.left <= 0 {
            return Ok(None);
        }
        let found = self
            .scan
            .next_match(matcher, subject.len())
            .map_err(|error| raise(call, error))?;
        if let Some((start, end)) = found {
            self.out.make_room(call.ctx, start - self.copied)?;
            self.out.extend_from_slice(&subject[self.copied..start]);
            self.copied = end;
            self.current = (start, end);
            self.left -= 1;
            self.count += 1;
        }
        Ok(found)
    }
}

fn replace_by_callback<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let Value::UserData(holder) = call.get(PROGRESS) else {
        return call.ret0();
    };
    let (subject, pattern) = subject_and_pattern(call);
    let ctx = call.ctx;
    let stop = || ctx.is_to_stop();
    let mut matcher = Matcher::new(subject, pattern).stopping(&stop);
    loop {
        let Some(mut progress) = holder.borrow::<Progress>() else {
            return call.ret0();
        };
        let Some((start, end)) = progress.next_match(call, &mut matcher, subject)? else {
            let result = finish(call, &mut progress);
            return call.or_again(result, PROGRESS + 1, replace_by_callback);
        };
        drop(progress);
        let replacement = call.get(REPLACEMENT);
        if matches!(replacement, Value::Table(_)) {
            let key = capture_value(call, &matcher, 0, start, end)?;
            match call.ctx.index(replacement, key)? {
                Access::Value(value) => add(call, holder, value)?,
                Access::Call { method, receiver } => {
                    return call.call_no_yield(method, &[receiver, key], replaced);
                }
            }
        } else {
            call.push(replacement);
            let count = push_captures(call, &matcher, start, end, true)?;
            return call.call_top_no_yield(count, replaced);
        }
    }
}

fn replaced<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let value = call.result(0);
    call.truncate(PROGRESS + 1);
    let Value::UserData(holder) = call.get(PROGRESS) else {
        return call.ret0();
    };
    add(call, holder, value)?;
    replace_by_callback(call)
}

/// Appends the replacement of the current match: the match itself if it is nil or false.
fn add<'gc>(
    call: &mut Call<'gc>,
    holder: UserData<'gc>,
    value: Value<'gc>,
) -> Result<(), Error<'gc>> {
    let Some(mut progress) = holder.borrow::<Progress>() else {
        return Ok(());
    };
    let keeps = matches!(value, Value::Nil | Value::Bool(false));
    let bytes = match value {
        _ if keeps => progress.current.1 - progress.current.0,
        Value::Str(text) => text.len(),
        _ => MAX_DIGITS,
    };
    progress.out.make_room(call.ctx, bytes)?;
    progress.changed |= !keeps;
    match value {
        _ if keeps => {
            let (subject, _) = subject_and_pattern(call);
            let (start, end) = progress.current;
            progress.out.extend_from_slice(&subject[start..end]);
        }
        Value::Str(text) => progress.out.extend_from_slice(text.as_bytes()),
        Value::Int(int) => crate::text::number::write_int(&mut progress.out, int),
        Value::Float(float) => crate::text::number::write_float(&mut progress.out, float),
        _ => {
            return Err(call.error(format!(
                "invalid replacement value (a {})",
                value.type_name()
            )));
        }
    }
    Ok(())
}
