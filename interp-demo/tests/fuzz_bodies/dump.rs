//! A dumped function that was changed: it is refused, or runs and harms nothing.

use std::sync::Arc;
use std::time::Duration;

use interp_demo::compiler::compile;
use interp_demo::dump::{listing, load, save};
use interp_demo::opcode::Instruction;
use interp_demo::proto::Proto;
use interp_demo::runtime::{Options, Runtime};
use interp_demo::vm::{Table, Value};

/// So long may what loads run.
const TIME: Duration = Duration::from_millis(10);
const MEMORY_BYTES: usize = 8 << 20;

/// Programs that have a bit of everything that is dumped.
pub const PROGRAMS: &[&str] = &[
    "local a, b = 1, 2.5 return a + b, a .. b, a // 1, -b, ~a, #'x', a < b, a == 1, not a",
    "local t = { 1, 2, 3, x = 'y', [4] = {} } for i, v in next, t do t[i] = nil end return t.x, t[1], #t",
    "for i = 1, 10 do local x = i if x > 5 then break end end for i = 10, 1, -2 do y = i end",
    "local function f(n, ...) if n == 0 then return ... end return f(n - 1, n, ...) end return f(5), (f(3))",
    "local up = 0 local function g() up = up + 1 return function() up = up | 3 return up end end return g()()",
    "local s = ('x'):rep(10) local x <const>, t = 3, {} repeat local y = s:len() + x t[y] = s until y > 0 return ...",
    "local c <close> = nil while true do local z = 1 do local function h() return z end end goto out end ::out:: x = { ... }",
    "local a <const> = 'k' local t = { [a] = 1 } t.k = t.k << 2 t[1], t[2] = t.k % 3, t.k ^ 2 return select == nil and t or t.q()",
    "local function it(s, i) if i < 3 then return i + 1, s end end for i, s, x, y in it, 'a', 0 do z = { it(s, i) } end return it('b', 1)",
    "local s, p, q = 'a', {}, ... p.q, p[s], p[2] = s .. s .. 1, q or p, p.q and 3.5 if p == q or s <= 'b' then return s:rep(2) end",
];

/// One change: of a byte of the dump (kind 0), of a byte of an instruction (1), or of an instruction to another one (2), with the
/// places modulo what there is.
pub type Change = (u8, u16, u16);

/// Changes the dump of a program of [`PROGRAMS`]. What loads is run, without any global variable, and the heap is looked at.
pub fn check(program: u8, changes: &[Change], strip: bool) {
    let source = PROGRAMS[usize::from(program) % PROGRAMS.len()];
    let mut proto = compile(source.as_bytes(), b"=fuzz").expect("it compiles");
    let mut code = Vec::new();
    gather(&mut proto, &mut code);
    let count = code.len();
    for &(kind, place, what) in changes {
        match kind % 3 {
            1 => change_operand(code[usize::from(place / 4) % count], place % 4, what),
            2 => {
                let copy = *code[usize::from(what) % count];
                *code[usize::from(place) % count] = copy;
            }
            _ => {}
        }
    }
    let mut bytes = save(&proto, strip);
    let size = bytes.len();
    for &(_, place, byte) in changes.iter().filter(|(kind, ..)| kind % 3 == 0) {
        bytes[usize::from(place) % size] = byte as u8;
    }
    if let Ok(loaded) = load(&bytes, b"=fuzz") {
        let _ = listing(&loaded);
        run(&bytes);
    }
}

/// All instructions of a function and of those inside it.
fn gather<'p>(proto: &'p mut Arc<Proto>, code: &mut Vec<&'p mut Instruction>) {
    let proto = Arc::get_mut(proto).expect("nobody else has it");
    code.extend(&mut proto.code);
    for inner in &mut proto.protos {
        gather(inner, code);
    }
}

/// Changes a byte of an instruction, unless it would be none then.
fn change_operand(instruction: &mut Instruction, byte: u16, to: u16) {
    let mut raw = instruction.raw().to_le_bytes();
    raw[usize::from(byte)] = to as u8;
    if let Some(changed) = Instruction::from_raw(u32::from_le_bytes(raw)) {
        *instruction = changed;
    }
}

fn run(bytes: &[u8]) {
    let mut runtime = Runtime::new(Options {
        scavenger: false,
        time_limit: Some(TIME),
        memory_limit_bytes: Some(MEMORY_BYTES),
        ..Options::default()
    });
    // However it ends: it does.
    let _ = runtime.call(|ctx| {
        let env = Value::Table(Table::new(ctx));
        Ok((ctx.load(bytes, b"=fuzz", env)?.into(), Vec::new()))
    });
    assert_eq!(runtime.verify(), Ok(()));
    runtime.close();
}
