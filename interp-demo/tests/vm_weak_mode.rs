//! A `__mode` that comes, changes or goes after the metatable was set.

mod common;

use common::check;

#[test]
fn nothing_is_lost_when_the_mode_goes() {
    for gone in [
        "mt.__mode = nil",
        "mt.__mode = 'x'",
        "rawset(mt, '__mode', nil)",
        "mt.__mode = 1",
    ] {
        check(&format!(
            "local mt = {{ __mode = 'k' }}
             local t = setmetatable({{}}, mt)
             t[{{}}] = {{ 1 }}
             {gone}
             collectgarbage()
             local key, value = next(t)
             assert(type(key) == 'table' and value[1] == 1)"
        ));
    }
}

#[test]
fn a_changed_mode_holds_for_the_entries_that_are_there() {
    check(
        "local mt = { __mode = 'v' }
         local t = setmetatable({}, mt)
         t[1] = { 'one' }
         mt.__mode = 'k'
         t[{}] = 2
         collectgarbage()
         assert(t[1][1] == 'one')
         for key in pairs(t) do assert(key == 1) end
         mt.__mode = 'kv'
         collectgarbage()
         assert(next(t) == nil)",
    );
}

#[test]
fn a_mode_that_comes_later_holds_from_the_next_entry_on() {
    check(
        "local mt = {}
         local t = setmetatable({}, mt)
         t[{}] = 0
         mt.__mode = 'k'
         t[{}] = 1
         collectgarbage()
         assert(next(t) == nil)
         local own = {}
         setmetatable(own, own)
         own.__mode = 'k'
         own[{}] = 1
         collectgarbage()
         assert(next(own) == '__mode' and next(own, '__mode') == nil)
         own.__mode = nil
         own[{}] = 1
         collectgarbage()
         assert(next(own))
         -- Every table of one metatable follows; one that has left it does not.
         local all = {}
         for i = 1, 20 do all[i] = setmetatable({}, mt); all[i][{}] = i end
         local other = { __mode = 'k' }
         setmetatable(all[20], other)
         mt.__mode = nil
         collectgarbage()
         for i = 1, 19 do assert(select(2, next(all[i])) == i) end
         assert(next(all[20]) == nil)
         mt.__mode = 'k'
         collectgarbage()
         for i = 1, 19 do assert(next(all[i]) == nil) end",
    );
}

#[test]
fn a_mode_that_comes_later_holds_for_the_entries_that_are_there() {
    check(
        "-- The metatable is empty, full, the table itself, or shared.
         local mt = {}
         local t = setmetatable({}, mt)
         t[{}] = 1
         mt.__mode = 'k'
         collectgarbage()
         assert(next(t) == nil)
         mt = { __index = function() end, __newindex = nil, x = 1 }
         t = setmetatable({ {}, {}, x = {}, y = 'kept' }, mt)
         rawset(mt, '__mode', 'v')
         collectgarbage()
         assert(#t == 0 and rawget(t, 'x') == nil and t.y == 'kept')
         local own = {}
         setmetatable(own, own)
         own.value = {}
         own.__mode = 'v'
         collectgarbage()
         assert(own.value == nil and own.__mode == 'v')
         -- Wherever the tables are: in upvalues, coroutines, metatables, keys, user values and weak tables.
         mt = { __name = 'shared' }
         local function new() return setmetatable({ {} }, mt) end
         local all = {}
         do
             local up = new()
             all.closure = function() return up end
             all.coroutine = coroutine.wrap(function() local own = new() while true do coroutine.yield(own) end end)
             all.coroutine()
             all.object = setmetatable({}, new())
             all[new()] = 'key'
             local held = new()
             all.weak = setmetatable({ held }, { __mode = 'v' })
             all.held = held
             debug.setuservalue(io.stdout, new(), 1)
         end
         local late = new()
         mt.__mode = 'v'
         collectgarbage()
         assert(late[1] == nil and all.closure()[1] == nil and all.coroutine()[1] == nil)
         assert(getmetatable(all.object)[1] == nil and all.held[1] == nil and all.weak[1] == all.held)
         for key in pairs(all) do assert(type(key) == 'string' or key[1] == nil) end
         -- Without being asked for, too.
         mt = {}
         t = setmetatable({ {} }, mt)
         mt.__mode = 'v'
         local n = 0
         repeat n = n + 1; local garbage = { n } until t[1] == nil or n > 1e7
         assert(t[1] == nil)",
    );
}

#[test]
fn a_traversal_is_not_disturbed_by_a_mode_that_comes_late() {
    // With and without collections that are asked for, with a loop within the loop and one that was left, and through `next` itself; and
    // where the loop changes and removes what is there.
    for (before, within) in [
        ("", "if n % 100 == 0 then collectgarbage() end"),
        ("", "for j = 1, 30 do local _ = { j } end"),
        (
            "for _ in pairs(t) do break end",
            "if n % 500 == 0 then for _ in pairs(t) do end collectgarbage() end",
        ),
        (
            "",
            "if n % 100 == 0 then t[key] = nil; t[1.5] = n; collectgarbage() end",
        ),
    ] {
        for walk in ["pairs(t)", "next, t"] {
            check(&format!(
                "local mt = {{}}
                 local t = setmetatable({{ [1.5] = 0 }}, mt)
                 for i = 1, 1000 do t[i] = 'v' .. i end
                 for i = 1, 1000 do t['s' .. i] = i end
                 {before}
                 mt.__mode = 'k'
                 local seen, n = {{}}, 0
                 for key in {walk} do
                     n = n + 1
                     assert(not seen[key], key)
                     seen[key] = true
                     {within}
                 end
                 assert(n == 2001, n)
                 -- Afterwards the table follows; at its next entry at the latest.
                 t[{{}}] = 1
                 collectgarbage()
                 for key in pairs(t) do assert(type(key) ~= 'table') end"
            ));
        }
    }
    check(
        "local mt = {}
         local t = setmetatable({ [{}] = 1 }, mt)
         for _ in pairs(t) do for _ in pairs(t) do end end
         mt.__mode = 'k'
         collectgarbage()
         assert(next(t) == nil)",
    );
}

#[test]
fn a_mode_that_comes_late_is_followed_where_only_waits_collect() {
    check(
        "local socket = require 'socket'
         local mt = {}
         local cache = setmetatable({}, mt)
         for i = 1, 10 do cache[{}] = i end
         mt.__mode = 'k'
         local turns = 0
         repeat
             turns = turns + 1
             local garbage = {}
             for i = 1, 300 do garbage[i] = { i } end
             socket.sleep(0.001)
             local left = 0
             for _ in pairs(cache) do left = left + 1 end
         until left == 0 or turns == 3000
         assert(turns < 3000)",
    );
}

#[test]
fn a_watched_metatable_is_a_table_as_any_other() {
    check(
        "local mt = { __mode = 'v', 10, 20, 30, name = 'n' }
         mt.__index = function(_, key) return key end
         local t = setmetatable({}, mt)
         assert(t.x == 'x' and #mt == 3 and mt[2] == 20 and mt.name == 'n')
         mt[4] = {}
         mt.held = {}
         collectgarbage()
         assert(#mt == 4 and mt.held)
         local n = 0
         for key, value in pairs(mt) do n = n + 1; assert(mt[key] == value) end
         assert(n == 8)
         table.insert(mt, 50)
         assert(table.remove(mt, 1) == 10 and #mt == 4)",
    );
}

#[test]
fn a_weak_table_may_lose_its_metatable_while_it_is_cleared() {
    // After each number of steps once, so that the mode goes in every phase, the clearing among them.
    for mode in ["incremental", "generational"] {
        check(&format!(
            "collectgarbage('{mode}')
             for steps = 1, 240 do
                 local t = setmetatable({{}}, {{ __mode = 'k' }})
                 for i = 1, 3000 do t[{{ i }}] = {{ i }} end
                 collectgarbage('step', 0)
                 for _ = 1, steps do collectgarbage('step', 1) end
                 setmetatable(t, nil)
                 collectgarbage()
                 collectgarbage()
                 -- What was freed is used again.
                 local fresh = {{}}
                 for i = 1, 6000 do fresh[i] = {{ i * 1.5 }} end
                 for key, value in pairs(t) do assert(key[1] == value[1]) end
             end"
        ));
    }
}
