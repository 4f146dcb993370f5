//! Tables of all sizes: what they hold, and what they weigh.

mod common;
#[path = "common/table_model.rs"]
mod table_model;

use common::check;

#[test]
fn a_table_holds_what_a_map_does() {
    table_model::check(256, None);
}

/// What tables weigh, that were made in one way or the other.
#[test]
fn small_tables_have_little_that_they_do_not_use() {
    check(
        "local function bytes(make)
           local kept = {}
           for i = 1, 1000 do kept[i] = i end
           collectgarbage(); collectgarbage()
           local before = collectgarbage('count')
           for i = 1, 1000 do kept[i] = make() end
           collectgarbage(); collectgarbage()
           return math.floor((collectgarbage('count') - before) * 1024 / 1000 + 0.5)
         end
         local names = { 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm' }
         local function fields(n)
           return function() local t = {}; for i = 1, n do t[names[i]] = i end; return t end
         end
         local function items(n)
           return function() local t = {}; for i = 1, n do t[#t + 1] = i end; return t end
         end
         local function expect(bound, weight) assert(weight <= bound, weight .. ' > ' .. bound) end
         expect(40, bytes(function() return {} end))
         expect(96, bytes(function() return { x = 1, y = 2 } end))
         expect(120, bytes(function() return { x = 1, y = 2, z = 3 } end))
         expect(168, bytes(function() return { x = 1, y = 2, z = 3, v = 4, w = 5 } end))
         expect(96, bytes(function() return { 1, 2, 3 } end))
         for n, bound in ipairs { 72, 96, 144, 144, 168, 216, 216, 264, 264, 360, 360, 360, 360 } do
           expect(bound, bytes(fields(n)))
         end
         for n, bound in ipairs { 64, 80, 96, 112, 144, 144, 184, 184 } do expect(bound, bytes(items(n))) end",
    );
}

#[test]
fn entries_that_come_and_go_do_not_have_a_full_table_laid_out_each_time() {
    // Each of these would take its time with a table that is laid out anew whenever a key comes.
    check(
        "for _, live in ipairs { 1, 2, 5, 17, 69, 1000, 4095 } do
           local t = {}
           for i = 1, live do t['k' .. i] = i end
           for i = live + 1, live + 20000 do
             t['k' .. i - live] = nil
             t['k' .. i] = i
           end
           local n = 0
           for key, value in pairs(t) do n = n + 1; assert(key == 'k' .. value) end
           assert(n == live)
         end",
    );
}

#[test]
fn a_traversal_of_a_weak_table_meets_each_entry_once_whatever_it_removes() {
    check(
        "local t, n = setmetatable({}, { __mode = 'kv' }), 0
         for i = 1, 3000 do t[i + 0.5] = i; t[i << 40] = i; t['k' .. i] = i end
         for key in pairs(t) do
           n = n + 1
           if n % 2 == 0 then t[key] = nil end
         end
         assert(n == 9000, n)",
    );
}

/// A new long string may be where one was that is no key any more.
#[test]
fn a_long_string_is_one_key_whatever_object_it_is() {
    check(
        "local t = {}
         for i = 1, 300 do
           for n = 1, 8 do t[('%060d'):format(n)] = i end
           for n = 1, 8 do
             assert(t[('%060d'):format(n)] == i)
             if (n + i) % 3 == 0 then t[('%060d'):format(n)] = nil end
           end
           collectgarbage('step', 0)
           local seen = {}
           for key, value in pairs(t) do assert(not seen[key] and value == i); seen[key] = true end
           for n = 1, 8 do assert(not seen[('%060d'):format(n)] == ((n + i) % 3 == 0)) end
         end",
    );
}

#[test]
fn a_table_that_becomes_weak_has_no_items_of_its_own() {
    check(
        "local t = { 1, 2, 3, x = 4 }
         setmetatable(t, { __mode = 'k' })
         for i = 4, 40 do t[i] = i end
         t.y = 5
         collectgarbage()
         assert(#t == 40 and t.x == 4 and t.y == 5)
         for i = 1, 40 do assert(t[i] == i); t[i] = nil end
         assert(#t == 0 and next(t) ~= nil)
         setmetatable(t, nil)
         table.move({ 7, 8, 9 }, 1, 3, 1, t)
         collectgarbage()
         assert(#t == 3 and t[3] == 9 and t.x == 4)",
    );
}
