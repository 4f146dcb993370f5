//! Tables with a step of the collector at every opportunity. In a file of its own, as zeal holds for all arenas of a process.

mod common;
#[path = "common/table_model.rs"]
mod table_model;

#[test]
fn a_table_holds_what_a_map_does_whatever_the_collector_does() {
    table_model::check(96, Some(1));
}
