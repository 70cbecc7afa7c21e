//! Connections on which nothing has arrived yet. They have no thread and no buffer, so that peers that connect and send nothing
//! use little memory, and do not count as handshakes.

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

use super::shared::Place;
use crate::listen::handshake::Served;
use crate::transport::address::Incoming;
use crate::transport::stream::{left, poll_until, Stream};

/// A connection before its handshake.
pub(super) struct Waiting {
    pub(super) incoming: Incoming,
    /// When its handshake has to be over.
    pub(super) deadline: Instant,
    /// The side for which `accept` was called when it came; `None` for the protocols of handlers.
    pub(super) served: Option<Served>,
    /// Counts it, if the connections of a peer are limited.
    pub(super) place: Option<Place>,
}

impl Waiting {
    /// Whether something has arrived, or the connection has ended.
    pub(super) fn is_ready(&self) -> bool {
        let is_readable = |descriptor| {
            let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
            poll_until(&mut polled, Some(Instant::now())).is_ok()
        };
        self.incoming.socket.descriptor().is_some_and(is_readable)
    }
}

/// All of them, in the order in which they came.
pub(super) struct Silent {
    epoll: OwnedFd,
    all: BTreeMap<u64, Waiting>,
    last: u64,
}

impl Silent {
    pub(super) fn new() -> io::Result<Silent> {
        Ok(Silent {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            all: BTreeMap::new(),
            last: 0,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn clear(&mut self) {
        while self.take_first().is_some() {}
    }

    /// A descriptor that is readable when one of them is.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// When the first of them is late.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let first = self.all.first_key_value();
        first.map(|(_, waiting)| waiting.deadline)
    }

    /// Adds one; drops it if the system has no memory for that.
    pub(super) fn add(&mut self, waiting: Waiting) -> io::Result<()> {
        self.last += 1;
        if let Some(descriptor) = waiting.incoming.socket.descriptor() {
            let number = EventData::new_u64(self.last);
            epoll::add(&self.epoll, descriptor, number, EventFlags::IN)?;
        }
        self.all.insert(self.last, waiting);
        Ok(())
    }

    /// Takes the one that has waited longest.
    pub(super) fn take_first(&mut self) -> Option<Waiting> {
        let first = *self.all.first_key_value()?.0;
        self.take(first)
    }

    /// Takes the one with this number. Its descriptor may live longer, for example in another process, so it leaves the set.
    fn take(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.all.remove(&number)?;
        if let Some(descriptor) = waiting.incoming.socket.descriptor() {
            let _known = epoll::delete(&self.epoll, descriptor);
        }
        Some(waiting)
    }

    /// Takes one whose time has passed.
    pub(super) fn take_late(&mut self) -> Option<Waiting> {
        let is_late = self.deadline().is_some_and(|first| left(first).is_none());
        is_late.then(|| self.take_first()).flatten()
    }

    /// Takes one on which something has arrived, or which has ended.
    pub(super) fn take_ready(&mut self) -> Option<Waiting> {
        let mut events: Vec<Event> = Vec::with_capacity(1);
        let at_once = Timespec::default();
        epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&at_once)).ok()?;
        self.take(events.first()?.data.u64())
    }
}
