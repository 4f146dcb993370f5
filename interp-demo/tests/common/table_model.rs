//! A table beside a map of the standard library: whatever is done to both, they hold the same.

use std::collections::BTreeMap;

use interp_demo::runtime::{Options, Runtime};
use interp_demo::vm::state::Ctx;
use interp_demo::vm::string::LuaStr;
use interp_demo::vm::table::Table;
use interp_demo::vm::value::Value;
use proptest::prelude::*;

use super::common::run;

/// A key, as a thing that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Int(i64),
    Name(u8),
    /// Too long to be interned.
    LongName(u8),
    Half(i16),
    Bool(bool),
    Object(u8),
}

/// What is done.
#[derive(Clone, Copy, Debug)]
enum Act {
    Set(Key, u16),
    Remove(Key),
    /// As `t[#t + 1] = value`.
    Append(u16),
    /// Items at the end are removed, as many as there are.
    RemoveLast(u8),
    /// A traversal that removes each n-th entry; 0: none.
    Walk(u8),
    Step,
    Collect,
}

const OBJECTS: u8 = 16;

fn keys() -> impl Strategy<Value = Key> {
    prop_oneof![
        6 => (-2..90_i64).prop_map(Key::Int),
        1 => (0..40_i64).prop_map(|n| Key::Int(n << 20)),
        1 => any::<i64>().prop_map(Key::Int),
        6 => (0..80_u8).prop_map(Key::Name),
        1 => (0..8_u8).prop_map(Key::LongName),
        1 => any::<i16>().prop_map(Key::Half),
        1 => any::<bool>().prop_map(Key::Bool),
        2 => (0..OBJECTS).prop_map(Key::Object),
    ]
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        12 => (keys(), any::<u16>()).prop_map(|(key, value)| Act::Set(key, value)),
        5 => keys().prop_map(Act::Remove),
        6 => any::<u16>().prop_map(Act::Append),
        1 => any::<u8>().prop_map(Act::RemoveLast),
        1 => (0..4_u8).prop_map(Act::Walk),
        2 => Just(Act::Step),
        1 => Just(Act::Collect),
    ];
    prop::collection::vec(act, 0..300)
}

fn global<'gc>(ctx: Ctx<'gc>, name: &str) -> Table<'gc> {
    match ctx.globals().get_name(ctx, name) {
        Value::Table(table) => table,
        _ => panic!("there is a global table '{name}'"),
    }
}

fn value_of<'gc>(ctx: Ctx<'gc>, key: Key) -> Value<'gc> {
    let string = |text: String| LuaStr::new(ctx, text.as_bytes()).into();
    match key {
        Key::Int(int) => Value::Int(int),
        Key::Name(n) => string(format!("name {n}")),
        Key::LongName(n) => string(format!("{n:060}")),
        Key::Half(n) => Value::Float(f64::from(n) + 0.5),
        Key::Bool(v) => Value::Bool(v),
        Key::Object(n) => global(ctx, "objects").get_int(ctx, i64::from(n) + 1),
    }
}

/// The key that a value is, in a list of all that the map has.
fn key_of<'gc>(ctx: Ctx<'gc>, value: Value<'gc>, map: &BTreeMap<Key, u16>) -> Key {
    let is_it = |key: &&Key| value_of(ctx, **key).raw_equals(value);
    *map.keys().find(is_it).expect("the map has the key")
}

/// A new string, which only the table keeps alive.
fn content<'gc>(ctx: Ctx<'gc>, value: u16) -> Value<'gc> {
    LuaStr::new(ctx, format!("content {value}").as_bytes()).into()
}

fn is_content(found: Value<'_>, value: u16) -> bool {
    matches!(found, Value::Str(it) if it.as_bytes() == format!("content {value}").as_bytes())
}

fn set<'gc>(ctx: Ctx<'gc>, key: Value<'gc>, value: Value<'gc>) {
    let done = global(ctx, "t").set(ctx, key, value);
    assert!(done.is_ok(), "a table of a few entries can grow");
}

fn walk(ctx: Ctx<'_>, each: u8, map: &mut BTreeMap<Key, u16>) {
    let table = global(ctx, "t");
    let (mut seen, mut at) = (BTreeMap::new(), Value::Nil);
    while let Ok(Some((key, value))) = table.next(ctx, at) {
        let model = key_of(ctx, key, map);
        assert!(is_content(value, map[&model]), "{model:?}");
        assert!(seen.insert(model, map[&model]).is_none(), "{model:?} twice");
        if each > 0 && seen.len() % usize::from(each) == 0 {
            set(ctx, key, Value::Nil);
        }
        at = key;
    }
    assert_eq!(&seen, map, "a traversal meets all entries");
    let mut number = 0;
    if each > 0 {
        // The traversal's order is the table's: what it has removed is what is missing now.
        map.retain(|&key, _| !table.get(ctx, value_of(ctx, key)).is_nil());
        number = seen.len() / usize::from(each);
    }
    assert_eq!(map.len() + number, seen.len());
}

fn act(ctx: Ctx<'_>, act: Act, map: &mut BTreeMap<Key, u16>) {
    let table = global(ctx, "t");
    match act {
        Act::Set(key, value) => {
            set(ctx, value_of(ctx, key), content(ctx, value));
            map.insert(key, value);
        }
        Act::Remove(key) => {
            set(ctx, value_of(ctx, key), Value::Nil);
            map.remove(&key);
        }
        Act::Append(value) => {
            let key = table.len(ctx) + 1;
            set(ctx, Value::Int(key), content(ctx, value));
            assert!(map.insert(Key::Int(key), value).is_none());
        }
        Act::RemoveLast(count) => {
            for _ in 0..count {
                let last = table.len(ctx);
                if last > 0 {
                    set(ctx, Value::Int(last), Value::Nil);
                    assert!(map.remove(&Key::Int(last)).is_some());
                }
            }
        }
        Act::Walk(each) => walk(ctx, each, map),
        Act::Step | Act::Collect => {}
    }
    let border = table.len(ctx);
    let has = |key| map.contains_key(&Key::Int(key));
    assert!((border == 0 || has(border)) && (border == i64::MAX || !has(border + 1)));
}

fn compare(ctx: Ctx<'_>, map: &BTreeMap<Key, u16>) {
    let table = global(ctx, "t");
    for (&key, &value) in map {
        let found = table.get(ctx, value_of(ctx, key));
        assert!(is_content(found, value), "{key:?}");
    }
    assert_eq!(table.pairs(ctx).count(), map.len());
}

/// Does acts made at random to a table and to a map, with a collector that is as zealous as is said.
pub fn check(cases: u32, zeal: Option<u32>) {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(2026),
        ..ProptestConfig::default()
    };
    proptest!(config, |(room in (0..9_u32, 0..12_u32), list in acts(), is_weak in prop::bool::weighted(0.1))| {
        let mut runtime = Runtime::new(Options { zeal, ..Options::default() });
        run(&mut runtime, "objects = {}; for i = 1, 16 do objects[i] = {} end");
        runtime.enter(|ctx| {
            let table = Table::with_capacity(ctx, room.0, room.1);
            let table = table.unwrap_or_else(|_| panic!("there is memory"));
            ctx.globals().set_name(ctx, "t", table);
        });
        if is_weak {
            // Strings are not weak, and the objects are held.
            run(&mut runtime, "setmetatable(t, { __mode = 'kv' })");
        }
        let mut map = BTreeMap::new();
        for &it in &list {
            runtime.enter(|ctx| act(ctx, it, &mut map));
            match it {
                Act::Step => run(&mut runtime, "collectgarbage('step', 0)"),
                Act::Collect => run(&mut runtime, "collectgarbage()"),
                _ => {}
            }
        }
        runtime.enter(|ctx| compare(ctx, &map));
        prop_assert_eq!(runtime.verify(), Ok(()));
        runtime.close();
    });
}
