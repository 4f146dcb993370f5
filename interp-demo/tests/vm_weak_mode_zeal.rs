//! A `__mode` that comes and goes while the collector is at work.
//!
//! In a file of its own, as zeal holds for all arenas of a process.

mod common;

use common::run;
use interp_demo::runtime::{Options, Runtime};

#[test]
fn a_mode_may_change_at_any_point_of_a_cycle() {
    // Each turn stops the collector at another point.
    for zeal in [None, Some(1)] {
        let mut runtime = Runtime::new(Options {
            zeal,
            ..Options::default()
        });
        run(
            &mut runtime,
            "collectgarbage('stop')
             local ballast = {}
             for i = 1, 300 do ballast[i] = { i } end
             for turn = 1, 120 do
                 local mt = { __mode = turn % 2 == 0 and 'k' or 'v' }
                 local t = setmetatable({}, mt)
                 for _ = 1, turn do collectgarbage('step', 1) end
                 for i = 1, 40 do t[{}] = { i } end
                 if turn % 3 == 0 then collectgarbage('step', 1) end
                 mt.__mode = nil
                 local before = 0
                 for _ in pairs(t) do before = before + 1 end
                 collectgarbage()
                 local n = 0
                 for _, value in pairs(t) do n = n + 1; assert(value[1] >= 1) end
                 assert(n == before, n)
             end",
        );
        runtime.verify().unwrap_or_else(|fault| panic!("{fault}"));
        runtime.close();
    }
}
