//! Runs a file.
use interp_demo::runtime::{End, Options, Runtime};
fn main() {
    let path = std::env::args().nth(1).unwrap_or_default();
    let zeal = std::env::var("ZEAL").ok().and_then(|z| z.parse().ok());
    let mut runtime = Runtime::new(Options {
        zeal,
        ..Options::default()
    });
    let end = runtime.run_file(Some(path.as_bytes()));
    if let End::Failed(m) = &end {
        eprintln!("{}", String::from_utf8_lossy(m));
    }
    runtime.close();
}
