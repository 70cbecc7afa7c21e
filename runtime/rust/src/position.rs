//! Where an endpoint stands in its session: pure arithmetic, equal on both sides.
//!
//! Messages of a session are totally ordered and both sides know the order, so both compute the same positions
//! without telling each other. A position is a slot of the ring and an *epoch*: the number of times the slot index
//! went back to 0, because the direction turned or because an unbounded run came round the ring (a *lap*).
//! A slot is stamped with the epoch of the message in it, which tells that message from all earlier ones.

/// One endpoint's position, packed so that an endpoint is two words: epoch, lap bit, side bit, slot index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position(u64);

const LAP: u64 = 1 << 31;
const SIDE: u64 = 1 << 30;
const SLOT: u64 = SIDE - 1;

/// The largest ring that a position can address.
pub(crate) const MAX_CAPACITY: usize = SLOT as usize;

/// From this epoch on the next turn starts again at 1, after clearing all stamps (see [`Position::turned`]).
///
/// Half of the number space: a stamp that is not rewritten ages only by turns, laps rewrite every slot. So no stamp
/// grows older than `RENEWAL` and a few epochs, and an epoch never meets its own number in an old stamp.
pub(crate) const RENEWAL: u32 = 1 << 31;

impl Position {
    /// The first position of a session, for side 0 or side 1.
    pub(crate) fn first(side: usize, epoch: u32) -> Position {
        let side = if side == 0 { 0 } else { SIDE };
        Position((u64::from(epoch) << 32) | side)
    }

    /// The epoch of the message at this position.
    pub(crate) fn epoch(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The slot of the message at this position.
    pub(crate) fn slot(self) -> usize {
        (self.0 & SLOT) as usize
    }

    /// Which side of the session this is; the other is `1 - side()`.
    pub(crate) fn side(self) -> usize {
        usize::from(self.0 & SIDE != 0)
    }

    /// Whether the current run has come round the ring, so that slots must be free before they are written.
    pub(crate) fn is_lapping(self) -> bool {
        self.0 & LAP != 0
    }

    /// After a message that keeps the direction, in a ring of `capacity` slots.
    pub(crate) fn stayed(self, capacity: usize) -> Position {
        if self.slot() + 1 < capacity {
            Position(self.0 + 1)
        } else {
            let epoch = self.epoch().wrapping_add(1);
            Position((u64::from(epoch) << 32) | LAP | (self.0 & SIDE))
        }
    }

    /// After a message that turns the direction. When the epoch falls back to 1 the stamps must be cleared.
    pub(crate) fn turned(self) -> Position {
        let epoch = if self.epoch() >= RENEWAL {
            1
        } else {
            self.epoch() + 1
        };
        Position((u64::from(epoch) << 32) | (self.0 & SIDE))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_slot_returns_to_zero_at_every_turn() {
        let start = Position::first(1, 1);
        let third = start.stayed(4).stayed(4);
        assert_eq!((third.slot(), third.epoch(), third.side()), (2, 1, 1));
        let reply = third.turned();
        assert_eq!((reply.slot(), reply.epoch(), reply.side()), (0, 2, 1));
        assert!(!reply.is_lapping());
    }

    #[test]
    fn a_full_ring_starts_a_lap_and_a_turn_ends_it() {
        let lap = Position::first(0, 1).stayed(2).stayed(2);
        assert_eq!((lap.slot(), lap.epoch(), lap.is_lapping()), (0, 2, true));
        assert!(lap.stayed(2).is_lapping());
        assert!(!lap.turned().is_lapping());
    }

    #[test]
    fn epochs_start_again_at_a_turn_and_wrap_in_a_lap() {
        assert_eq!(Position::first(0, RENEWAL - 1).turned().epoch(), RENEWAL);
        assert_eq!(Position::first(0, RENEWAL).turned().epoch(), 1);
        assert_eq!(Position::first(0, u32::MAX).stayed(1).epoch(), 0);
    }
}
