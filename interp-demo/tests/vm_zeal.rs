//! A step of the collector at every opportunity: what a missing barrier, or a root that nobody traces, does not survive.
//! In a file of its own, as zeal holds for all arenas of a process.

mod common;

use common::run;
use interp_demo::runtime::{Options, Runtime};

/// A program whose objects are all connected anew all the time.
const CHURN: &str = "
    local live, weak = {}, setmetatable({}, { __mode = 'k' })
    local closures = {}
    for i = 1, 3000 do
        local slot = i % 50
        live[slot] = { i, name = 'n' .. i, next = live[(i * 7) % 50] }
        if live[slot].next then live[slot].next.next = nil end
        weak[live[slot]] = { live[slot] }
        local n = i
        closures[slot] = function() n = n + 1; return live[slot], n end
        local co = coroutine.wrap(function(x) while true do x = { coroutine.yield(x) } end end)
        co(live[slot])
        assert(co(closures[slot]) ~= nil)
        setmetatable({ closures[slot] }, { __gc = function(o) assert(o[1]()) end })
        if i % 10 == 0 then live['k' .. i % 30] = ('x'):rep(i % 90) .. i end
    end
    for slot = 0, 49 do
        local object, n = closures[slot]()
        assert(object == live[slot] and n > object[1] and object.name == 'n' .. object[1])
        assert(weak[object][1] == object)
    end";

#[test]
fn a_step_at_every_opportunity_breaks_nothing() {
    for zeal in [1, 3] {
        let mut runtime = Runtime::new(Options {
            zeal: Some(zeal),
            ..Options::default()
        });
        run(&mut runtime, CHURN);
        runtime.verify().unwrap_or_else(|fault| panic!("{fault}"));
        runtime.close();
    }
}

/// A concatenation whose metamethods are called one after another, with a safe point in each.
const JOINED: &str = "
    local joined = {}
    joined.__concat = function(a, b)
        if type(a) == 'table' then a = a.text end
        if type(b) == 'table' then b = b.text end
        local both = setmetatable({ text = a .. b }, joined)
        return both
    end
    local c, d = setmetatable({ text = 'c' }, joined), setmetatable({ text = 'd' }, joined)
    for _ = 1, 200 do assert((c .. d .. c .. d).text == 'cdcd') end";

#[test]
fn what_a_metamethod_returns_is_an_operand_of_the_next() {
    for zeal in [1, 3] {
        let mut runtime = Runtime::new(Options {
            zeal: Some(zeal),
            ..Options::default()
        });
        run(&mut runtime, JOINED);
        runtime.verify().unwrap_or_else(|fault| panic!("{fault}"));
        runtime.close();
    }
}
