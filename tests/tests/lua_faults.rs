//! Faults that Lua and its embedders had: a test for each, under the usual pacing, with a step of the collector at every few
//! opportunities, and with two generations.
//!
//! | fault | test |
//! |---|---|
//! | a fully weak table is visited in marking, then given a new metatable, which is not marked | `weak_table_new_metatable` |
//! | the `__newindex` of a weak metatable dies while it is in use | `weak_metatable_newindex` |
//! | no barrier on the slow path of an assignment (absent key, no `__newindex`) | `assignment_slow_path_barrier` |
//! | no barrier where the compiler attaches constants | `constants_while_compiling` |
//! | a prototype or a long string is collected while parsing | `prototypes_while_parsing` |
//! | a barrier in the sweep trusts colours that are being changed | `barrier_while_sweeping` |
//! | an open upvalue is collected | `open_upvalue` |
//! | an upvalue is joined to itself | `upvalue_joined_to_itself` |
//! | a key is removed in a traversal and collected; `next` loses its place | `key_removed_while_traversing` |
//! | a dead key with a nil value, and a lookup of an equal long string | `dead_key_equal_long_string` |
//! | an ephemeron's entry is collected though its key is reached later in marking | `ephemeron_strong_key` |
//! | weak tables that have survived a collection are never cleared | `weak_tables_are_cleared_later` |
//! | `collectgarbage` in a finalizer goes into another collection | `collect_in_finalizer` |
//! | `os.exit` in a finalizer | `exit_in_finalizer` |
//! | a finalizer is called where a frame is half built | `finalizer_in_half_built_frame` |
//! | a finalizer allocates when memory is short | `finalizer_short_of_memory` |
//! | a step that was asked for loops for ever, or overflows | `steps_end` |
//! | cycles too often in deep recursion | `cycles_in_deep_recursion` |
//! | the work of finalizers is missing in the pacing | `finalizers_in_the_pacing` |
//! | `t[10000000] = {}` makes a huge array part | `sparse_key` |
//! | a dead value in an unused slot of the stack keeps a weak entry alive | `stale_slots` |
//! | `collectgarbage()` inside a metamethod frees what lives | `collect_in_metamethod` |
//! | what the host allocates is not counted, and garbage outruns the collector | `host_allocations_are_counted` |

use std::process::Command;

use sleepy_tests::program::{run, sleepy_lua, workspace};

/// Two generations, from the start.
const GENERATIONAL: &[&str] = &["-e", "collectgarbage 'generational'"];

fn check_with(name: &str, options: &[&str], code: i32, ways: &[&[&str]]) {
    let script = workspace().join(format!("tests/lua/faults/{name}.lua"));
    for way in ways {
        let end = run(Command::new(sleepy_lua())
            .args(*way)
            .args(options)
            .arg(&script));
        assert_eq!(
            (end.code, end.stdout.as_str()),
            (Some(code), "ok\n"),
            "{way:?}\n{}",
            end.stderr
        );
    }
}

macro_rules! faults {
    ($($name:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            check_with(stringify!($name), &[], 0, &[&[], &["--zeal=40"], GENERATIONAL]);
        }
    )*};
}

faults!(
    weak_table_new_metatable,
    weak_metatable_newindex,
    assignment_slow_path_barrier,
    constants_while_compiling,
    prototypes_while_parsing,
    barrier_while_sweeping,
    open_upvalue,
    upvalue_joined_to_itself,
    key_removed_while_traversing,
    dead_key_equal_long_string,
    ephemeron_strong_key,
    weak_tables_are_cleared_later,
    collect_in_finalizer,
    finalizer_in_half_built_frame,
    steps_end,
    sparse_key,
    stale_slots,
    collect_in_metamethod,
);

/// A collector that works more than it has to, as zeal makes it, has no pacing that could be looked at.
const PACED: &[&[&str]] = &[&[], GENERATIONAL];

#[test]
fn cycles_in_deep_recursion() {
    check_with("cycles_in_deep_recursion", &[], 0, PACED);
}

#[test]
fn finalizers_in_the_pacing() {
    check_with("finalizers_in_the_pacing", &[], 0, PACED);
}

#[test]
fn host_allocations_are_counted() {
    check_with(
        "host_allocations_are_counted",
        &["--memory-limit=64M"],
        0,
        PACED,
    );
}

#[test]
fn exit_in_finalizer() {
    check_with(
        "exit_in_finalizer",
        &[],
        7,
        &[&[], &["--zeal=40"], GENERATIONAL],
    );
}

#[test]
fn finalizer_short_of_memory() {
    check_with(
        "finalizer_short_of_memory",
        &["--memory-limit=24M"],
        0,
        PACED,
    );
}

#[test]
fn every_script_is_run() {
    let own = include_str!("lua_faults.rs");
    let folder = workspace().join("tests/lua/faults");
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        assert!(own.matches(&name).count() >= 2, "{name}");
    }
}
