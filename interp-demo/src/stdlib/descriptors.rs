//! Running out of file descriptors. Garbage may hold some, and weighs too little to be collected for that: so a native
//! that gets none has everything collected, and tries once more.

use std::io;

use crate::vm::native::{Call, NativeFn, NativeResult};
use crate::vm::suspend::{GcRequest, Suspend};

/// Whether a call has failed because the process, or the system, has no descriptor left.
pub(super) fn are_used_up(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Collects, with finalizers, and goes on with `then`.
pub(super) fn collect<'gc>(call: &mut Call<'gc>, then: NativeFn) -> NativeResult<'gc> {
    call.suspend(Suspend::Collect(GcRequest::Full), then)
}

/// For natives that make no other use of [`Call::state`]: as [`collect`] if that may help `error` and was not done yet.
pub(super) fn collect_once<'gc>(
    call: &mut Call<'gc>,
    error: &io::Error,
    then: NativeFn,
) -> Option<NativeResult<'gc>> {
    if call.state != 0 || !are_used_up(error) {
        return None;
    }
    call.state = 1;
    Some(collect(call, then))
}

/// Lets the process have as many descriptors as the system allows it at most; false if it has them already.
pub(super) fn raise_limit() -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    limit.current != limit.maximum && setrlimit(Resource::Nofile, raised).is_ok()
}
