// SPDX-License-Identifier: GPL-2.0

//! The side of a stream that takes what comes, and may send it back.

#![forbid(unsafe_code)]

use super::{
    flow::Flow,
    memory::Source, //
};
use crate::{
    engine::queue::Queue,
    logic::{
        command::Command,
        failure::Failure,
        stream::{
            receiver::Piece,
            turns::GREETING,
            violation::Violation, //
        }, //
    }, //
};

/// A side that takes bytes.
pub(super) struct Taking {
    /// Sends back what comes.
    echo: bool,
    /// Bytes that go before direct writes.
    greeting: u32,
    /// Bytes of a direct write that are not posted.
    left: u32,
}

impl Taking {
    /// Creates a side that does what the command asks for.
    pub(super) fn new(command: &Command) -> Self {
        Self {
            echo: command.stream.echo,
            greeting: match command.stream.iomap {
                true => GREETING,
                false => 0,
            },
            left: 0,
        }
    }

    /// Takes what can be read of a piece: sends it back, or has done with it. Returns the number of
    /// bytes; 0 where that has to wait.
    fn take(
        &mut self,
        flow: &mut Flow,
        queue: &mut Queue<'_>,
        piece: Piece,
    ) -> Result<u32, Failure> {
        let source = Source::Ring(piece.offset);
        match flow.direct {
            None if !self.echo => Ok(piece.len),
            None => flow.send(queue, source, piece.len),
            Some(_) if piece.len > self.greeting => {
                Err(Failure::Stream(Violation::Unasked(piece.len)))
            }
            Some(_) => {
                // The peer is to have the mapping before the answer.
                if !flow.tell(queue)? {
                    return Ok(0);
                }
                if self.echo {
                    flow.check_peer()?;
                }
                let sent = flow.send(queue, source, piece.len)?;
                self.greeting -= sent;
                Ok(sent)
            }
        }
    }

    /// Writes what is left of a direct write, as far as it can be posted.
    fn write(&mut self, flow: &mut Flow, queue: &mut Queue<'_>) -> Result<(), Failure> {
        while self.left > 0 {
            let written = flow.write_direct(queue, self.left)?;
            if written == 0 {
                break;
            }
            self.left -= written;
        }
        Ok(())
    }

    /// Ends the direction to the peer, which has ended the other one, once everything is sent.
    fn end(&self, flow: &mut Flow, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if flow.endpoint.control.sends() && !self.echo {
            flow.check_direct(queue)?;
        }
        flow.end(queue)
    }

    /// Does what has become possible, and returns true where nothing more comes or is sent.
    pub(super) fn go_on(
        &mut self,
        flow: &mut Flow,
        queue: &mut Queue<'_>,
    ) -> Result<bool, Failure> {
        while let Some(piece) = flow.endpoint.receiver.readable() {
            let taken = self.take(flow, queue, piece)?;
            if taken == 0 {
                break;
            }
            flow.endpoint.receiver.read(taken);
        }
        self.write(flow, queue)?;
        flow.grant(queue)?;
        // The peer has ended its direction, and everything is sent.
        if !flow.endpoint.control.receives() && flow.endpoint.receiver.unread() == 0 {
            self.end(flow, queue)?;
        }
        Ok(flow.is_over())
    }

    /// Takes the peer's direct write in turn, if it has come, and answers it. Returns true where it
    /// has.
    pub(super) fn look(&mut self, flow: &mut Flow, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        if self.left > 0 || !flow.take_direct(queue)? {
            return Ok(false);
        }
        if let Some(direct) = &mut flow.direct {
            direct.make(queue)?;
            self.left = direct.size();
        }
        self.write(flow, queue)?;
        Ok(true)
    }
}
