//! The limits of the compiler: each is an error with Lua's own words, and no text overflows the stack of the process.

use interp_demo::compiler::compile;

/// The message of the error, or an empty text.
fn message(source: &str) -> String {
    compile(source.as_bytes(), b"=t").map_or_else(|error| error.to_string(), |_| String::new())
}

fn numbered(count: usize, separator: &str, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(separator)
}

#[test]
fn local_variables() {
    let locals = |count| numbered(count, "\n", |i| format!("local a{i}"));
    assert_eq!(message(&locals(200)), "");
    assert_eq!(
        message(&locals(201)),
        "t:201: too many local variables (limit is 200) in main function near <eof>"
    );
    let function = format!("\n\nfunction f()\n{} end", locals(201));
    assert_eq!(
        message(&function),
        "t:204: too many local variables (limit is 200) in function at line 3 near 'end'"
    );
    let parameters = format!(
        "function f({}) end",
        numbered(201, ",", |i| format!("a{i}"))
    );
    assert_eq!(
        message(&parameters),
        "t:1: too many local variables (limit is 200) in function at line 1 near ')'"
    );
}

#[test]
fn upvalues() {
    let uses = |count| {
        let outer = numbered(150, "\n", |i| format!("local a{i}"));
        let inner = numbered(150, "\n", |i| format!("local b{i}"));
        let sum = numbered(count, " + ", |i| {
            if i < 150 {
                format!("a{i}")
            } else {
                format!("b{}", i - 150)
            }
        });
        format!("{outer} function g() {inner} return function() return {sum} end end")
    };
    assert_eq!(message(&uses(255)), "");
    let error = message(&uses(256));
    assert!(
        error.contains("too many upvalues (limit is 255) in function at line"),
        "{error}"
    );
}

#[test]
fn registers() {
    let call = |count| format!("f({})", numbered(count, ",", |i| i.to_string()));
    assert_eq!(message(&call(253)), "");
    assert_eq!(
        message(&call(254)),
        "t:1: function or expression needs too many registers near <eof>"
    );
    assert_eq!(
        message(&call(300)),
        "t:1: function or expression needs too many registers near '254'"
    );
    let table = format!("x = {{{}}}", numbered(1000, ",", |i| format!("f{i}")));
    assert_eq!(message(&table), "");
}

#[test]
fn constants_past_every_operand() {
    let strings = numbered(140_000, ",", |i| format!("'k{i}'"));
    assert_eq!(
        message(&format!(
            "x = {{{strings}}} return 'k139999', y.k139998, y.k139999(), z == 'k139997'"
        )),
        ""
    );
}

#[test]
fn distance_of_loops() {
    let body = "a = b ".repeat(70_000);
    assert_eq!(
        message(&format!("for i = 1, 2 do {body} end")),
        "t:1: control structure too long near 'end'"
    );
    assert_eq!(
        message(&format!("for i in x do {body} end")),
        "t:1: control structure too long near 'end'"
    );
    assert_eq!(message(&format!("while x do {body} end")), "");
}

#[test]
fn nesting() {
    let nested: [fn(usize) -> String; 12] = [
        |n| format!("x = {}1{}", "(".repeat(n), ")".repeat(n)),
        |n| format!("x = {}1", "- ".repeat(n)),
        |n| format!("{}{}", "do ".repeat(n), "end ".repeat(n)),
        |n| format!("x = {}1", "1 .. ".repeat(n)),
        |n| format!("x = {}1", "2 ^ ".repeat(n)),
        |n| format!("{}a = 1", "a, ".repeat(n)),
        |n| format!("x = {}{}", "{".repeat(n), "}".repeat(n)),
        |n| {
            format!(
                "x = {}1{}",
                "function() return ".repeat(n / 2),
                " end".repeat(n / 2)
            )
        },
        |n| format!("{}{}", "if a then ".repeat(n), "end ".repeat(n)),
        |n| format!("{}{}", "repeat ".repeat(n), "until x ".repeat(n)),
        |n| format!("x = {}1{}", "a[".repeat(n), "]".repeat(n)),
        |n| numbered(n, " ", |i| format!("::l{i}::")),
    ];
    for source in nested {
        assert_eq!(message(&source(190)), "", "{}", source(3));
        for depth in [400, 100_000] {
            assert_eq!(message(&source(depth)), "C stack overflow", "{}", source(3));
        }
    }
}

#[test]
fn what_is_not_nested_has_no_limit() {
    assert_eq!(message(&format!("a{} = 1", ".b".repeat(100_000))), "");
    assert_eq!(message(&format!("a{}", "()".repeat(100_000))), "");
    assert_eq!(message(&format!("x = 1{}", " + 1".repeat(100_000))), "");
    assert_eq!(message(&"x = 1;;;\n".repeat(100_000)), "");
}
