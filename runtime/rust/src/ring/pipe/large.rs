//! The large block that replaces the small one with which a session began: see `link::publish::grow`.
//!
//! The SAFETY of what accesses a block is that of the accessors in `ring::pipe`: a side that is still in the small block
//! keeps both.

use std::sync::atomic::Ordering::Relaxed;

use super::Pipe;
use crate::floor::layout::Part;
use crate::ring::block::Block;
use crate::ring::line_word::LineWord;

impl Pipe {
    /// Begins a large block for the session, for the sender, and returns its pipe there.
    pub(crate) fn begin_large(&self) -> Pipe {
        let (block, epoch) = Block::begin(*self.layout(), Part::Large);
        Pipe::of(block, self.at.in_large_block(epoch))
    }

    /// Makes the large block the one that the receiver finds with [`Pipe::larger`].
    pub(crate) fn grow_into(&self, large: &Pipe) {
        self.carry_over(large);
        // SAFETY: see the module; the block is new.
        unsafe { Block::replace(self.block, large.block) };
    }

    /// Takes that back, for a sender that is alone.
    pub(crate) fn stay_small(&self, large: &Pipe) {
        large.limit_mark().store(0, Relaxed);
        // SAFETY: by the caller, nothing else uses the session.
        unsafe { Block::keep(self.block, large.block) };
    }

    /// The receiver's first pipe in the large block, after the message that was found in this word, the last of a half of
    /// the small one; `None` if the session stays in that.
    pub(crate) fn larger(&self, word: LineWord) -> Option<Pipe> {
        if !word.moves() {
            return None;
        }
        // SAFETY: see the module. The word was published after the block.
        unsafe {
            let block = Block::larger(self.block)?;
            let epoch = Block::first_epoch(block);
            Some(Pipe::of(block, self.at.in_large_block(epoch)))
        }
    }

    /// Continues in the large block, for the receiver.
    pub(crate) fn enter_large(&self, large: &Pipe) {
        self.carry_over(large);
        // SAFETY: only this side accesses it, in either block.
        unsafe { *large.private().state.get() = self.state() };
    }

    /// Copies what this side has noted for itself.
    fn carry_over(&self, large: &Pipe) {
        let turned_by = self.private().turned_by.load(Relaxed);
        large.private().turned_by.store(turned_by, Relaxed);
        let mark = self.limit_mark().load(Relaxed);
        large.limit_mark().store(mark, Relaxed);
    }

    /// Prepares the small block for its end, after both sides have left it.
    pub(crate) fn forget_larger(&self) {
        // SAFETY: the sender's last access was to publish the message that the receiver, by which this is called, has
        // taken, except that it may still be fetching the receiver's waiter.
        unsafe { Block::forget_larger(self.block) };
    }
}
