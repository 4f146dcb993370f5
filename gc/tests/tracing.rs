//! What is told to a `tracing` subscriber.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use sleepy_gc::{Arena, Budget, Gc, Rootable};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps the events of the collector as text.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<(Level, String)>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sleepy_gc"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0
            .lock()
            .unwrap()
            .push((*event.metadata().level(), text.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn a_cycle_tells_its_beginning_its_phases_its_steps_and_its_end() {
    let recorder = Recorder::default();
    tracing::subscriber::with_default(recorder.clone(), || {
        let mut arena = Arena::<Rootable![Gc<'_, [u64; 4]>]>::new(|mc| Gc::new(mc, [0; 4]));
        arena.start_cycle();
        while arena.has_work() {
            arena.step(Budget::Work(1));
        }
        arena.set_heap_limit(Some(0));
        arena.mutate(|mc, _| assert!(Gc::try_new(mc, [0_u64; 4]).is_err()));
    });
    let events = recorder.0.lock().unwrap();
    let at = |level: Level, what: &str| {
        let found = events
            .iter()
            .position(|(of, text)| *of == level && text.contains(what));
        found.unwrap_or_else(|| panic!("no {what} in {events:#?}"))
    };
    let order = [
        at(Level::DEBUG, "cycle begins"),
        at(Level::DEBUG, "phase=Marked"),
        at(Level::DEBUG, "phase=Sweeping"),
        at(Level::DEBUG, "live_objects=1"),
        at(Level::WARN, "limit_bytes=0"),
    ];
    assert!(order.is_sorted(), "{order:?} in {events:#?}");
    // Where a step does it all (zeal makes such), it is told last.
    assert!(at(Level::TRACE, "message=step") > order[0]);
    assert!(events[order[0]].1.contains("cause=Explicit"));
}
