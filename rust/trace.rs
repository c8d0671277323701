// SPDX-License-Identifier: GPL-2.0

//! Tracepoints, `krping:post` and the others.
//!
//! One that nobody has enabled costs a jump that is patched into the code. `docs/tracing.md` says
//! what they are good for, `bindings/krping_trace.h` what they hold.

#[cfg(CONFIG_TRACEPOINTS)]
use crate::bindings;
use crate::logic::failure::Operation;
#[cfg(all(CONFIG_TRACEPOINTS, CONFIG_JUMP_LABEL))]
use kernel::jump_label::arch_static_branch;

/// Reads whether a tracepoint is enabled. The type of its key is not the same in all kernels, so
/// the kernel crate's macro, which wants one type, is not for this.
#[cfg(CONFIG_TRACEPOINTS)]
macro_rules! is_enabled {
    ($key:path) => {{
        #[cfg(CONFIG_JUMP_LABEL)]
        {
            arch_static_branch! { $key, bindings::tracepoint, key, false }
        }
        #[cfg(not(CONFIG_JUMP_LABEL))]
        {
            bindings::static_key_count((&raw const $key.key).cast_mut().cast()) > 0
        }
    }};
}

/// Makes a function of a tracepoint, which calls the C function where the tracepoint is enabled.
macro_rules! tracepoint {
    ($(#[$doc:meta])* $name:ident, $key:ident, $emit:ident, $($arg:ident: $kind:ty),*) => {
        $(#[$doc])*
        #[inline(always)]
        fn $name($($arg: $kind),*) {
            #[cfg(CONFIG_TRACEPOINTS)]
            // SAFETY: Reads the tracepoint's key, which is as long there as the module.
            if unsafe { is_enabled!(bindings::$key) } {
                // SAFETY: It takes numbers, and addresses that it does not follow; any context.
                unsafe { bindings::$emit($($arg),*) }
            }
            #[cfg(not(CONFIG_TRACEPOINTS))]
            let _ = ($($arg),*);
        }
    };
}

tracepoint!(emit_post, __tracepoint_post, rust_helper_trace_post, qpn: u32, op: u32, count: u32);
tracepoint!(
    emit_posted, __tracepoint_posted, rust_helper_trace_posted,
    qpn: u32, op: u32, errno: u32
);
tracepoint!(
    emit_completion, __tracepoint_completion, rust_helper_trace_completion,
    qpn: u32, op: u32, status: u32
);
tracepoint!(
    emit_callback, __tracepoint_callback, rust_helper_trace_callback,
    qpn: u32, op: u32, status: u32
);
tracepoint!(
    emit_connect, __tracepoint_connect, rust_helper_trace_connect,
    connection: *const core::ffi::c_void, milestone: u32
);

const _: () = assert!(
    Operation::ALL.len() == 8,
    "krping_trace.h names the operations, in their order"
);

/// Traces that `count` requests, the last of which is `op`, are about to be posted to queue pair
/// `qpn`. Any context.
#[inline(always)]
pub(crate) fn post(qpn: u32, op: Operation, count: usize) {
    emit_post(qpn, op as u32, count as u32);
}

/// Traces that they were posted, or refused with a positive `errno`. Any context.
#[inline(always)]
pub(crate) fn posted(qpn: u32, op: Operation, errno: u32) {
    emit_posted(qpn, op as u32, errno);
}

/// Traces that a completion of queue pair `qpn` is about to be handled. Any context.
#[inline(always)]
pub(crate) fn completion(qpn: u32, op: Operation, status: u32) {
    emit_completion(qpn, op as u32, status);
}

/// Traces that the completion was handled. Any context.
#[inline(always)]
pub(crate) fn callback(qpn: u32, op: Operation, status: u32) {
    emit_callback(qpn, op as u32, status);
}

/// Traces that a connection, which its address tells from others, has reached a milestone. Any
/// context.
#[inline(always)]
pub(crate) fn connect<T>(connection: &T, milestone: u32) {
    emit_connect(core::ptr::from_ref(connection).cast(), milestone);
}
