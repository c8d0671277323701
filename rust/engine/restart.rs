// SPDX-License-Identifier: GPL-2.0

//! Commands that outlive a `write()` which the kernel restarts.
//!
//! A writer that is frozen, stopped or traced, or has task work to do, must leave the
//! kernel's code for that. Its `write()` then returns `ERESTARTSYS`, after which the
//! kernel calls again with the same arguments, unless a handler ran that ends system
//! calls. In between the command goes on here, without its writer: [`Restarts::wait`]
//! leaves it, [`Restarts::take`] takes it up again.
//!
//! A writer may also never come back: it was killed, its handler did not return or ended
//! the call, its `write()` was io_uring's. Then the command ends as by a signal. Three see
//! to that: the release of the file, the next command of the same task, and a thread for
//! as long as the command waits here, which looks whether the task is still there.

#![forbid(unsafe_code)]

use crate::kernel_ext::{
    completion::{
        Completion,
        Waited, //
    },
    kthread::run_detached,
    module::ModuleRef,
    procfs::FileId,
    signal::{
        Caller,
        Disturbance, //
    },
    time::Deadline, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// How often a writer that is to come back is looked after, in ms.
const LOOK_MS: u32 = 100;

/// How long a writer may take that nothing keeps from coming back, in ms.
const RETURN_MS: u32 = 10_000;

/// Something that a `write()` waits for.
pub(crate) trait Awaited: Send + Sync {
    /// Waits for it, and returns how it ended, or `None` where something disturbs the calling
    /// task before. May sleep.
    fn wait(&self) -> Option<Result>;

    /// Ends it because of a signal, and returns how it ended. Sleeps until it has.
    fn interrupt(&self, why: Disturbance) -> Result;
}

/// What a `write()` waits for; `None` where the command goes on without its writer.
pub(crate) type Waiting = Option<Arc<dyn Awaited>>;

/// A `write()` of a command.
pub(crate) struct Write {
    /// What was written to.
    pub(crate) file: FileId,
    /// What was written.
    pub(crate) text: KVec<u8>,
    /// Keeps the module loaded.
    pub(crate) in_use: ModuleRef,
}

/// A command whose `write()` is to be restarted.
#[pin_data]
struct Left {
    awaited: Arc<dyn Awaited>,
    writer: Caller,
    write: Write,
    /// Somebody has taken it.
    #[pin]
    taken: Completion,
}

/// The commands that wait for their writers.
#[pin_data]
pub(crate) struct Restarts {
    #[pin]
    left: Mutex<KVec<Arc<Left>>>,
}

impl Restarts {
    /// Creates it without any command.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                left <- new_mutex!(KVec::new(), "krping_restarts"),
            }),
            GFP_KERNEL,
        )
    }

    /// Waits for the end of a command. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// That of the command; `ERESTARTSYS` where the writer has something else to do first
    /// that does not end a system call.
    pub(crate) fn wait(self: &Arc<Self>, awaited: Arc<dyn Awaited>, write: Write) -> Result {
        if let Some(result) = awaited.wait() {
            return result;
        }
        let mut why = Disturbance::pending();
        if why == Disturbance::Passing {
            match self.leave(awaited.clone(), write) {
                Ok(()) => return Err(ERESTARTSYS),
                Err(error) => {
                    pr_err!("a disturbed command cannot go on: {:?}\n", error);
                    why = Disturbance::Signal;
                }
            }
        }
        awaited.interrupt(why)
    }

    fn leave(self: &Arc<Self>, awaited: Arc<dyn Awaited>, write: Write) -> Result {
        let module = write.in_use.another()?;
        let left = Arc::pin_init(
            pin_init!(Left {
                awaited,
                writer: Caller::current(),
                write,
                taken <- Completion::new(),
            }),
            GFP_KERNEL,
        )?;
        self.left.lock().push(left.clone(), GFP_KERNEL)?;
        let (restarts, watched) = (self.clone(), left.clone());
        run_detached(0, module, move || restarts.watch(&watched)).inspect_err(|_| {
            self.remove(|each| Arc::ptr_eq(each, &left));
        })
    }

    /// Takes up the command that the calling task has left when it wrote `text` to `file`.
    /// Another one that it has left ends. May sleep.
    pub(crate) fn take(&self, file: FileId, text: &[u8]) -> Waiting {
        let left = self.remove(|left| left.writer.is_current())?;
        if left.write.file == file && *left.write.text == *text {
            return Some(left.awaited.clone());
        }
        left.abandon();
        None
    }

    /// Ends what was left by writes to `file`. Sleeps until it has ended.
    pub(crate) fn released(&self, file: FileId) {
        while let Some(left) = self.remove(|left| left.write.file == file) {
            left.abandon();
        }
    }

    /// Removes one that `is` chosen: it is the caller's then.
    fn remove(&self, is: impl Fn(&Arc<Left>) -> bool) -> Option<Arc<Left>> {
        let mut all = self.left.lock();
        let index = all.iter().position(is)?;
        let left = all.remove(index).ok()?;
        left.taken.complete_all();
        Some(left)
    }

    /// Ends `left` where its writer does not come back. The body of its thread.
    fn watch(&self, left: &Arc<Left>) {
        let mut returns = Deadline::after_ms(RETURN_MS);
        while left.taken.wait_interruptible(Deadline::after_ms(LOOK_MS)) != Waited::Completed {
            if left.writer.is_halted() {
                returns = Deadline::after_ms(RETURN_MS);
            } else if left.writer.is_exiting() || returns.passed() {
                if let Some(left) = self.remove(|each| Arc::ptr_eq(each, left)) {
                    left.abandon();
                }
                return;
            }
        }
    }
}

impl Left {
    /// Ends the command, whose writer does not come back.
    fn abandon(&self) {
        // Nobody is there to hear how it ended; the log has it.
        let _ = self.awaited.interrupt(Disturbance::Signal);
    }
}
