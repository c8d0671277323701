// SPDX-License-Identifier: GPL-2.0

//! Commands that create and stop disks, and the waiting of their writers.

#![forbid(unsafe_code)]

use super::{
    attachment::Attachment,
    client,
    disks::Disks,
    queue::DiskQueue, //
};
use crate::{
    block::server,
    engine::{
        entry::{
            Client,
            Entry, //
        },
        registry::Registry,
        restart::{
            Awaited,
            Waiting, //
        },
        session::{
            not_begun,
            Session,
            GOING_MS, //
        },
        worker::ThreadName, //
    },
    kernel_ext::{
        completion::Waited,
        kthread::run_detached,
        module::ModuleRef,
        signal::Disturbance,
        time::Deadline, //
    },
    logic::{
        command::Command,
        spec::tests::Family, //
    }, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::Arc, //
};

/// The disk tests. Their clients outlive the writers of the commands.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Disk],
    client: Client::Kept(begin),
    listen: Some(server::listening::start),
    serve: None,
    depths: Some(DiskQueue::depths_for),
    states: &[
        || Ok(KBox::new(Disks::new()?, GFP_KERNEL)?),
        server::export::new_ledgers,
    ],
};

/// Waits for the end of a disk or, with `detach`, until it is up.
struct Begun {
    attachment: Arc<Attachment>,
    detach: bool,
}

impl Awaited for Begun {
    fn wait(&self) -> Option<Result> {
        self.attachment.wait(self.detach)
    }

    /// Stops the disk.
    ///
    /// # Errors
    ///
    /// `EINTR`, or the result of the command if it had ended before; `EBUSY` if the disk is open,
    /// and so stays.
    fn interrupt(&self, _: Disturbance) -> Result {
        let attachment = &self.attachment;
        let until = if self.detach {
            &attachment.up
        } else {
            &attachment.gone
        };
        if until.wait(Deadline::after_ms(0)) == Waited::Completed {
            return attachment.verdict();
        }
        if let Err(failure) = attachment.stop(false) {
            pr_warn!(
                "krping{} stays, though the command was interrupted: {}; write stop={} later\n",
                attachment.number,
                failure,
                attachment.number
            );
            return Err(EBUSY);
        }
        // If this takes longer, the keeper goes on alone.
        attachment.gone.wait(Deadline::after_ms(GOING_MS));
        Err(EINTR)
    }
}

/// Waits for the end of a disk that is being stopped.
struct Going(Arc<Attachment>);

impl Awaited for Going {
    fn wait(&self) -> Option<Result> {
        self.0.wait(false).map(|_| Ok(()))
    }

    /// Waits a moment longer. A `stop=` may end a server that the shell started, and the shell
    /// then gets a signal; the write still succeeds if the disk is gone soon.
    ///
    /// # Errors
    ///
    /// `EINTR` if the wait takes longer. The disk is removed all the same.
    fn interrupt(&self, _: Disturbance) -> Result {
        match self.0.gone.wait(Deadline::after_ms(GOING_MS)) {
            Waited::Completed => Ok(()),
            _ => Err(EINTR),
        }
    }
}

/// Begins a command that creates a disk. Process context of the writer; may sleep.
fn begin(registry: &Arc<Registry>, command: KBox<Command>, in_use: &ModuleRef) -> Result<Waiting> {
    let detach = command.detach;
    let id = registry.next_id();
    let disks = registry.state::<Arc<Disks>>().ok_or(EINVAL)?;
    let attachment = disks.add().map_err(not_begun(registry, id))?;
    let begun = Begun {
        attachment: attachment.clone(),
        detach,
    };
    let kept = Arc::new(begun, GFP_KERNEL)
        .map_err(Error::from)
        .and_then(|begun| keep(registry, id, command, in_use, &attachment).map(|()| begun));
    match kept {
        Ok(begun) => Ok(Some(begun)),
        Err(error) => {
            disks.remove(attachment.number);
            Err(not_begun(registry, id)(error))
        }
    }
}

/// Starts the threads of the disk `attachment`, including its keeper thread.
fn keep(
    registry: &Arc<Registry>,
    id: u32,
    command: KBox<Command>,
    in_use: &ModuleRef,
    attachment: &Arc<Attachment>,
) -> Result {
    let session = Session::new(registry, id, command, Some(attachment.clone()))?;
    let started = session.start_with(&ENTRY, |session, addr| {
        client::start(session, addr, attachment.clone())
    });
    let (kept, registry, attachment) = (session.clone(), registry.clone(), attachment.clone());
    in_use
        .another()
        .and_then(|module| {
            run_detached(fmt!("{}", ThreadName(session.id)), module, move || {
                attachment.keep(&kept, started, || {
                    if let Some(disks) = registry.state::<Arc<Disks>>() {
                        disks.remove(attachment.number);
                    }
                });
            })
        })
        .inspect_err(|_| {
            session.interrupt_threads(Disturbance::Kill);
            // Only the other failure is reported.
            let _ = session.join();
        })
}

/// Starts the removal of disk `number`. Process context of the writer, which then waits until the
/// disk is gone.
///
/// # Errors
///
/// `ENOENT` if there is no such disk; `EBUSY` if it is open and `force` is not set; `ENOMEM`.
pub(crate) fn stop(registry: &Registry, number: u32, force: bool) -> Result<Waiting> {
    let refused =
        |error, why: fmt::Arguments<'_>| registry.errors().not_stopped(number, error, why);
    let disks = registry.state::<Arc<Disks>>();
    let Some(attachment) = disks.and_then(|disks| disks.find(number)) else {
        return Err(refused(ENOENT, fmt!("there is no disk krping{}", number)));
    };
    let going = Arc::new(Going(attachment.clone()), GFP_KERNEL)
        .map_err(|_| refused(ENOMEM, fmt!("krping{}: ENOMEM", number)))?;
    attachment
        .stop(force)
        .map_err(|failure| refused(EBUSY, fmt!("krping{}: {}", number, failure)))?;
    Ok(Some(going))
}
