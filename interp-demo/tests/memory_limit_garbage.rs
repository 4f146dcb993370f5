//! Under `--memory-limit`, whatever there is room for beside what is live can be had: garbage goes first.

mod common;

/// The limit on buffers is one of the process, so this is not in a file with tests that have another.
const LIMIT_BYTES: usize = 64 << 20;

/// A program under a limit.
fn run(source: &str) {
    common::check_within(LIMIT_BYTES, source);
}

#[test]
fn garbage_is_no_reason() {
    // With a long pause the heap is full of garbage, and each of these asks for more than what is left up to the limit.
    for program in [
        "s .. i .. s",
        "s:rep(2)",
        "s:upper()",
        "s:sub(2)",
        "s:match('((.*))')",
        "s:gsub('^x', 'y')",
        "s:gsub('^x', string.upper)",
        "s:gsub('x', { x = 'yy' }, 1)",
        "('%s%d%s'):format(s, i, s)",
        "('%s%d%s'):format(setmetatable({}, { __tostring = function() return s end }), i, s)",
        "string.unpack('s4', string.pack('s4', s))",
        "table.concat({ s, s })",
        "table.concat(setmetatable({}, { __len = function() return 2 end, __index = function() return s end }))",
        "assert(load('return 1 --[[' .. s:sub(1, 5e6) .. ']]'))",
        "io.open('/dev/zero'):read(2e7)",
    ] {
        let source = format!(
            "collectgarbage('setpause', 1000)
             local s = ('x'):rep(1.1e7)
             for i = 1, 4 do
                 for k = 1, 40 do local junk = ('j'):rep(8e5) .. k end
                 assert({program})
             end"
        );
        run(&source);
    }
}
