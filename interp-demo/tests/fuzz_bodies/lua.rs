//! A chunk on `sleepy-lua` and, where it is installed, on `lua5.4`: both must return the same text.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use interp_demo::runtime::{End, Options, Runtime};

/// What every chunk may call.
const PRELUDE: &str = r"
-- The values as one text that tells them apart.
function text(...)
    local t = table.pack(...)
    for i = 1, t.n do
        local simple = t[i] == nil or type(t[i]) == 'boolean' or math.type(t[i]) or type(t[i]) == 'string'
        t[i] = simple and ('%q'):format(t[i]) or type(t[i])
    end
    return table.concat(t, ', ')
end

-- What a call returns, or its error.
function show(f, ...) return text(pcall(f, ...)) .. '\n' end
";

/// Reads chunks from standard input, each after its length, and writes what they return in the same way.
const DRIVER: &str = r"
while true do
    local size = io.read(4)
    if not size then break end
    local chunk = assert(load(io.read((('<I4'):unpack(size))), '=case', 't'))
    io.write(('<s4'):pack(chunk()))
    io.flush()
end
";

struct Peer {
    /// It ends when its standard input does.
    _child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Peer {
    /// `None` where it is not installed.
    fn start() -> Option<Peer> {
        let mut child = Command::new("lua5.4")
            .args(["-e", PRELUDE, "-e", DRIVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let (input, output) = (child.stdin.take()?, child.stdout.take()?);
        Some(Peer {
            _child: child,
            input,
            output,
        })
    }

    fn run(&mut self, chunk: &str) -> std::io::Result<Vec<u8>> {
        self.input.write_all(&(chunk.len() as u32).to_le_bytes())?;
        self.input.write_all(chunk.as_bytes())?;
        let mut size = [0; 4];
        self.output.read_exact(&mut size)?;
        let mut text = vec![0; u32::from_le_bytes(size) as usize];
        self.output.read_exact(&mut text)?;
        Ok(text)
    }
}

struct Pair {
    ours: Runtime,
    peer: Option<Peer>,
}

impl Pair {
    fn start() -> Pair {
        let mut ours = Runtime::new(Options {
            scavenger: false,
            ..Options::default()
        });
        assert_eq!(ours.do_string(PRELUDE.as_bytes(), b"=prelude"), End::Done);
        let peer = Peer::start();
        if peer.is_none() {
            eprintln!("SKIPPED: no lua5.4 to compare with");
        }
        Pair { ours, peer }
    }
}

thread_local! {
    static PAIR: RefCell<Pair> = RefCell::new(Pair::start());
}

/// Runs a chunk that returns a text; panics unless it does, and `lua5.4` returns the same one.
pub fn compare(chunk: &str) {
    PAIR.with_borrow_mut(|pair| {
        let end = pair.ours.do_string(chunk.as_bytes(), b"=case");
        assert_eq!(end, End::Done, "{chunk}");
        let ours = pair.ours.enter(|ctx| {
            let text = ctx.results().get(1).and_then(|value| value.as_str());
            text.expect("it returns a text").as_bytes().to_vec()
        });
        if let Some(peer) = &mut pair.peer {
            let theirs = peer.run(chunk).expect("lua5.4 goes on");
            assert!(
                ours == theirs,
                "{chunk}\ngives     {}\nshould be {}",
                ours.escape_ascii(),
                theirs.escape_ascii()
            );
        }
    });
}

/// Any bytes as a literal.
pub fn quoted(bytes: &[u8]) -> String {
    let escapes = bytes.iter().map(|byte| match byte {
        b' '..=b'~' if !matches!(byte, b'"' | b'\\') => char::from(*byte).to_string(),
        _ => format!("\\{byte:03}"),
    });
    format!("\"{}\"", escapes.collect::<String>())
}

/// Any float as an expression, with its sign and payload.
pub fn float(value: f64) -> String {
    format!("(('<d'):unpack(('<i8'):pack({:#x})))", value.to_bits())
}
