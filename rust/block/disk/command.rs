// SPDX-License-Identifier: GPL-2.0

//! Commands that make disks and end them, and what their writers wait for.

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
        }, //
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
    prelude::*,
    sync::Arc, //
};

/// Disks, whose clients outlive their writers.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Disk],
    client: Client::Kept(begin),
    listen: Some(server::listening::start),
    serve: None,
    depths: Some(DiskQueue::depths_for),
    states: &[
        || Ok(KBox::new(Disks::new()?, GFP_KERNEL)?),
        server::listening::new_ledgers,
    ],
};

/// The end of a disk or, with `detach`, its beginning.
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
    /// `EINTR`, or how the command had ended before; `EBUSY` where the disk is open, and
    /// stays.
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
        // What takes longer is left to the keeper.
        attachment.gone.wait(Deadline::after_ms(GOING_MS));
        Err(EINTR)
    }
}

/// The end of a disk that has been told to go.
struct Going(Arc<Attachment>);

impl Awaited for Going {
    fn wait(&self) -> Option<Result> {
        self.0.wait(false).map(|_| Ok(()))
    }

    /// Waits a moment longer. A shell gets a signal when a server ends that it has started, which
    /// a `stop=` may bring about: it says nothing where the disk is gone at once.
    ///
    /// # Errors
    ///
    /// `EINTR` where it takes longer: the disk goes all the same.
    fn interrupt(&self, _: Disturbance) -> Result {
        match self.0.gone.wait(Deadline::after_ms(GOING_MS)) {
            Waited::Completed => Ok(()),
            _ => Err(EINTR),
        }
    }
}

/// Begins a command that makes a disk. Process context of the writer; may sleep.
///
/// # Errors
///
/// `ENOMEM`, and what else there is before there is a session.
fn begin(registry: &Arc<Registry>, command: KBox<Command>, in_use: &ModuleRef) -> Result<Waiting> {
    let detach = command.detach;
    let id = registry.next_id();
    let disks = registry.state::<Arc<Disks>>().ok_or(EINVAL)?;
    let attachment = disks.add().map_err(not_begun(id))?;
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
            Err(not_begun(id)(error))
        }
    }
}

/// Starts the threads of the disk `attachment`, the one that keeps it among them.
fn keep(
    registry: &Arc<Registry>,
    id: u32,
    command: KBox<Command>,
    in_use: &ModuleRef,
    attachment: &Arc<Attachment>,
) -> Result {
    let session = Session::new(registry, id, command, Some(attachment.clone()))?;
    let started =
        session.start_with(|session, addr| client::start(session, addr, attachment.clone()));
    let (kept, registry, attachment) = (session.clone(), registry.clone(), attachment.clone());
    in_use
        .another()
        .and_then(|module| {
            run_detached(session.id, module, move || {
                attachment.keep(&kept, started, || {
                    if let Some(disks) = registry.state::<Arc<Disks>>() {
                        disks.remove(attachment.number);
                    }
                });
            })
        })
        .inspect_err(|_| {
            session.interrupt_threads(Disturbance::Kill);
            // Another failure is what is told.
            let _ = session.join();
        })
}

/// Has disk `number` stopped. Process context of the writer, which then waits until it is
/// gone.
///
/// # Errors
///
/// `ENOENT` where there is none; `EBUSY` where it is open and `force` is not set; `ENOMEM`.
pub(crate) fn stop(registry: &Registry, number: u32, force: bool) -> Result<Waiting> {
    let disks = registry.state::<Arc<Disks>>();
    let Some(attachment) = disks.and_then(|disks| disks.find(number)) else {
        pr_err!("stop: there is no disk krping{}\n", number);
        return Err(ENOENT);
    };
    let going = Arc::new(Going(attachment.clone()), GFP_KERNEL)
        .inspect_err(|_| pr_err!("stop: krping{}: ENOMEM\n", number))?;
    attachment.stop(force).map_err(|failure| {
        pr_err!("stop: krping{}: {}\n", number, failure);
        EBUSY
    })?;
    Ok(Some(going))
}
