//! Looking at the running functions: levels, names, local variables, tracebacks.

use super::describe::position;
use super::frame::{Flags, Frame};
use super::native::Call;
use super::state::Ctx;
use super::string::LuaStr;
use super::table::Table;
use super::thread::Thread;
use super::value::Value;
use crate::debug_names::{NameKind, call_name};
use crate::proto::{Proto, chunk_id};

/// A function that runs now.
pub struct Level<'gc> {
    thread: Thread<'gc>,
    frame: Frame,
    /// Where its caller's frame is; none: nobody knows its caller.
    below: Option<usize>,
    /// Where the native stands that it calls, if that has no frame.
    callee: Option<u32>,
}

impl<'gc> Call<'gc> {
    /// The function at a level: 0 is this native itself, 1 whoever called it.
    #[must_use]
    pub fn level(&self, level: usize) -> Option<Level<'gc>> {
        if self.framed {
            return self.thread.level(level);
        }
        if level > 0 {
            let callee = (level == 1).then_some(self.base - 1);
            let level = self.thread.level(level - 1)?;
            return Some(Level { callee, ..level });
        }
        Some(Level {
            thread: self.thread,
            frame: Frame::native(self.base - 1, self.top, 0, Flags::NONE),
            below: self.thread.frames().len().checked_sub(1),
            callee: None,
        })
    }
}

impl<'gc> Thread<'gc> {
    /// The function at a level of this coroutine; 0 is the innermost that has a frame. Inside a native, use
    /// [`Call::level`] for the running coroutine.
    #[must_use]
    pub fn level(self, level: usize) -> Option<Level<'gc>> {
        let frames = self.frames();
        let mut shown = frames
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, frame)| !frame.flags.has(Flags::HIDDEN));
        let (at, frame) = shown.nth(level)?;
        Some(Level {
            thread: self,
            frame: *frame,
            below: at.checked_sub(1),
            callee: None,
        })
    }

    /// How many levels there are.
    #[must_use]
    pub fn level_count(self) -> usize {
        let frames = self.frames().iter();
        frames
            .filter(|frame| !frame.flags.has(Flags::HIDDEN))
            .count()
    }
}

impl<'gc> Level<'gc> {
    pub(super) fn thread(&self) -> Thread<'gc> {
        self.thread
    }

    pub(super) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The function.
    #[must_use]
    pub fn function(&self) -> Value<'gc> {
        self.thread.stack_get(self.frame.base - 1)
    }

    /// Whether it is a Lua function.
    #[must_use]
    pub fn is_lua(&self) -> bool {
        self.frame.is_lua()
    }

    /// The prototype and the instruction of a Lua function.
    #[must_use]
    pub fn position(&self) -> Option<(&'gc Proto, usize)> {
        position(self.thread, &self.frame)
    }

    /// The line that runs, if it is known.
    #[must_use]
    pub fn current_line(&self) -> Option<u32> {
        let (proto, pc) = self.position()?;
        proto.line(pc)
    }

    /// Whether it was entered by a tail call.
    #[must_use]
    pub fn is_tail_call(&self) -> bool {
        self.frame.flags.has(Flags::TAIL)
    }

    /// In a hook, of the function that it was called for: the number of the first local variable that the event hands
    /// over, and how many there are.
    #[must_use]
    pub fn transfer(&self) -> (u32, u32) {
        let above = self.below.map_or(0, |below| below + 1) + 1;
        match self.thread.frames().get(above) {
            Some(frame) if frame.flags.has(Flags::HOOK) => self.thread.hook().transfer,
            _ => (0, 0),
        }
    }

    /// What the caller calls it.
    #[must_use]
    pub fn name(&self) -> Option<(NameKind, Vec<u8>)> {
        if self.frame.flags.has(Flags::FINALIZER) {
            return Some((NameKind::Metamethod, b"__gc".to_vec()));
        }
        if self.is_tail_call() {
            return None;
        }
        let frames = self.thread.frames();
        let mut below = *frames.get(self.below?)?;
        if below.flags.has(Flags::IN_HANDLER) {
            // A message handler is called by whatever has failed, and named after that.
            below = *frames.get(self.below?.checked_sub(1)?)?;
        }
        if below.flags.has(Flags::HOOK) {
            return Some((NameKind::Hook, b"?".to_vec()));
        }
        let (proto, pc) = position(self.thread, &below)?;
        call_name(proto, pc).map(|name| (name.kind, name.name.to_vec()))
    }

    /// The local variable number `n` (from 1; negative: the extra arguments), and its value.
    #[must_use]
    pub fn local(&self, n: i64) -> Option<(Vec<u8>, Value<'gc>)> {
        let (name, at) = self.local_place(n)?;
        Some((name, self.thread.stack_get(at)))
    }

    /// Changes a local variable; its name, if there is one.
    pub fn set_local(&self, ctx: Ctx<'gc>, n: i64, value: Value<'gc>) -> Option<Vec<u8>> {
        let (name, at) = self.local_place(n)?;
        ctx.barrier(value);
        self.thread.stack_set(at, value);
        Some(name)
    }

    fn local_place(&self, n: i64) -> Option<(Vec<u8>, u32)> {
        let position = self.position();
        if n < 0 {
            let (proto, _) = position?;
            let extra = u64::from(self.frame.aux);
            if !proto.is_vararg || n.unsigned_abs() > extra {
                return None;
            }
            let at = self.frame.func - self.frame.aux + (n.unsigned_abs() as u32 - 1);
            return Some((b"(vararg)".to_vec(), at));
        }
        let number = usize::try_from(n).ok().filter(|&n| n > 0)?;
        let at = self.frame.base + u32::try_from(number - 1).ok()?;
        if let Some((proto, pc)) = position
            && let Some(name) = proto.local_name(number, pc)
        {
            return Some((name.to_vec(), at));
        }
        let end = self.end();
        if at >= end {
            return None;
        }
        let name: &[u8] = if self.is_lua() {
            b"(temporary)"
        } else {
            b"(C temporary)"
        };
        Some((name.to_vec(), at))
    }

    /// Above the last slot that is in use.
    fn end(&self) -> u32 {
        if let Some(callee) = self.callee.filter(|_| self.is_lua()) {
            return callee;
        }
        match self.below {
            // A function that is called by this one stands on this one's registers.
            Some(below) => {
                let above = below + 2;
                match self.thread.frames().get(above) {
                    Some(above) if self.frame.is_lua() => above.func,
                    _ => self.frame.top,
                }
            }
            None => self.frame.top,
        }
    }

    /// `function 'name'`, `local 'name'`, `main chunk`, `function <file:line>` or `?`, as tracebacks have it.
    #[must_use]
    pub fn describe(&self, ctx: Ctx<'gc>) -> Vec<u8> {
        if let Some(name) = loaded_name(ctx, self.function()) {
            return quoted(b"function", &name);
        }
        if let Some((kind, name)) = self.name() {
            return quoted(kind.text().as_bytes(), &name);
        }
        match self.position() {
            Some((proto, _)) if proto.line_defined == 0 => b"main chunk".to_vec(),
            Some((proto, _)) => {
                let mut text = b"function <".to_vec();
                text.extend_from_slice(&chunk_id(&proto.source));
                text.extend_from_slice(format!(":{}>", proto.line_defined).as_bytes());
                text
            }
            None => b"?".to_vec(),
        }
    }
}

fn quoted(kind: &[u8], name: &[u8]) -> Vec<u8> {
    [kind, b" '", name, b"'"].concat()
}

/// The name under which a function is found in the loaded libraries, as `string.format`.
#[must_use]
pub fn loaded_name<'gc>(ctx: Ctx<'gc>, function: Value<'gc>) -> Option<Vec<u8>> {
    let loaded: Table<'gc> = ctx.state.loaded();
    let mut key = Value::Nil;
    while let Ok(Some((library, contents))) = loaded.next(ctx, key) {
        key = library;
        let (Value::Str(library), Value::Table(contents)) = (library, contents) else {
            continue;
        };
        if let Some(name) = field_name(ctx, contents, function) {
            return Some(match library.as_bytes() {
                b"_G" => name.as_bytes().to_vec(),
                library => [library, b".", name.as_bytes()].concat(),
            });
        }
    }
    None
}

fn field_name<'gc>(
    ctx: Ctx<'gc>,
    contents: Table<'gc>,
    function: Value<'gc>,
) -> Option<LuaStr<'gc>> {
    let mut key = Value::Nil;
    while let Ok(Some((name, value))) = contents.next(ctx, key) {
        key = name;
        if let Value::Str(name) = name
            && value.same_object(function)
        {
            return Some(name);
        }
    }
    None
}

/// How many levels a traceback shows at its beginning and at its end.
const FIRST_LEVELS: usize = 10;
const LAST_LEVELS: usize = 11;

/// A traceback: `message`, if there is one, and the levels that `level_at` gives, of which there are `count`.
pub(super) fn write_traceback<'gc>(
    ctx: Ctx<'gc>,
    message: Option<&[u8]>,
    count: usize,
    mut level_at: impl FnMut(usize) -> Option<Level<'gc>>,
) -> Vec<u8> {
    let mut text = Vec::new();
    if let Some(message) = message {
        text.extend_from_slice(message);
        text.push(b'\n');
    }
    text.extend_from_slice(b"stack traceback:");
    let mut at = 0;
    while at < count {
        if count > FIRST_LEVELS + LAST_LEVELS + 1 && at == FIRST_LEVELS {
            let skipped = count - FIRST_LEVELS - LAST_LEVELS;
            // The level that gives its place to this line is not in PUC's number.
            let told = skipped - 1;
            text.extend_from_slice(format!("\n\t...\t(skipping {told} levels)").as_bytes());
            at += skipped;
            continue;
        }
        let Some(level) = level_at(at) else { break };
        text.extend_from_slice(b"\n\t");
        match level.position() {
            Some((proto, _)) => {
                text.extend_from_slice(&chunk_id(&proto.source));
                text.push(b':');
                if let Some(line) = level.current_line() {
                    text.extend_from_slice(format!("{line}:").as_bytes());
                }
            }
            None => text.extend_from_slice(b"[C]:"),
        }
        text.extend_from_slice(b" in ");
        text.extend_from_slice(&level.describe(ctx));
        if level.is_tail_call() {
            text.extend_from_slice(b"\n\t(...tail calls...)");
        }
        at += 1;
    }
    text
}

impl<'gc> Call<'gc> {
    /// A traceback of the running coroutine, from `level` on (1: whoever called this native).
    #[must_use]
    pub fn traceback(&self, message: Option<&[u8]>, level: usize) -> Vec<u8> {
        let total = self.thread.level_count() + usize::from(!self.framed);
        write_traceback(self.ctx, message, total.saturating_sub(level), |at| {
            self.level(level + at)
        })
    }
}

impl<'gc> Ctx<'gc> {
    /// A traceback of a coroutine that is not the running one.
    #[must_use]
    pub fn traceback(self, thread: Thread<'gc>, message: Option<&[u8]>, level: usize) -> Vec<u8> {
        let total = thread.level_count();
        write_traceback(self, message, total.saturating_sub(level), |at| {
            thread.level(level + at)
        })
    }
}
