//! The core of the collector knows nothing of the face that stands on it.

use std::{fs, path::Path};

/// What `heap` may use of the crate: counters, budgets and prices, which know no pointer.
const ALLOWED: [&str; 4] = ["metrics", "pacing", "step", "summary"];

#[test]
fn the_heap_uses_neither_collect_nor_gc_nor_mutation() {
    let heap = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/heap");
    for file in fs::read_dir(heap).expect("the sources are there") {
        let path = file.expect("an entry").path();
        let source = fs::read_to_string(&path).expect("a source file");
        for module in source.split("crate::").skip(1) {
            let module = module.trim_start_matches(['{', ' ', '\n']);
            let end = module.find(|c: char| !c.is_alphanumeric() && c != '_');
            let module = &module[..end.unwrap_or(module.len())];
            assert!(
                ALLOWED.contains(&module),
                "{} uses crate::{module}",
                path.display()
            );
        }
    }
}
