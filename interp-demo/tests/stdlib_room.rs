//! Natives that build long strings, or read without bound, keep to the limit on memory.

use std::process::Command;

const LIMIT: &str = "20M";

/// Runs an expression in a protected call under the limit, and then shows that the program goes on.
fn outcome(expression: &str) -> String {
    let program =
        format!("print(pcall(function() return #tostring({expression}) end)) print('on')");
    let output = Command::new(env!("CARGO_BIN_EXE_sleepy-lua"))
        .args(["--memory-limit", LIMIT, "-e", &program])
        .output()
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{expression}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn too_much_is_not_enough_memory() {
    for expression in [
        "('x'):rep(1000000000)",
        "('xyz'):rep(100000000, ',')",
        "(('x'):rep(1000):gsub('x', ('y'):rep(100000)))",
        "(('x'):rep(1000):gsub('x', function() return ('y'):rep(100000) end))",
        "table.concat(setmetatable({}, {__len = function() return 1000 end, __index = function() return ('y'):rep(100000) end}))",
        "string.pack('c2000000000', 'x')",
        "io.open('/dev/zero'):read('a')",
        "io.open('/dev/zero'):read('l')",
        "io.open('/dev/zero'):read(1000000000)",
        "io.lines('/dev/zero')()",
        "load(function() return ('x '):rep(100000) end)",
    ] {
        assert_eq!(
            outcome(expression),
            "false\tnot enough memory\non\n",
            "{expression}"
        );
    }
}

#[test]
fn what_fits_is_made() {
    assert_eq!(outcome("('x'):rep(1000000)"), "true\t1000000\non\n");
    assert_eq!(
        outcome("io.open('/dev/zero'):read(1000000)"),
        "true\t1000000\non\n"
    );
}
