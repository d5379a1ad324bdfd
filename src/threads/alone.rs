//! Single-threaded fallback for devices and browsers.

use crate::error::Result;
use crate::interrupt::check;

/// See [`super::ask_each_block`].
pub fn ask_each_block<B>(mut blocks: impl Iterator<Item = B>, act: impl Fn(B)) -> Result<()> {
    blocks.try_for_each(|block| check().map(|()| act(block)))
}

/// See [`super::for_each_block`].
pub fn for_each_block<B>(blocks: impl Iterator<Item = B>, act: impl Fn(B)) {
    blocks.for_each(act);
}
