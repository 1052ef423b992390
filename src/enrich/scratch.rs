//! Texts made while an event is read: decoded paths, titles, parameters. One buffer per worker holds them all; what
//! needs no making stays in the input, so the ordinary event makes none.

use std::ops::Range;

/// A text that stands in the input or in the [`Scratch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'s> {
    Input(&'s str),
    Scratch(Range<usize>),
}

/// Texts that had to be made; one per worker, cleared for every event.
#[derive(Default)]
pub struct Scratch(pub(super) String);

impl Scratch {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The text of a piece.
    #[must_use]
    pub fn text<'a>(&'a self, piece: &'a Piece<'_>) -> &'a str {
        match piece {
            Piece::Input(text) => text,
            Piece::Scratch(range) => &self.0[range.clone()],
        }
    }

    pub(super) fn keep<'s>(&mut self, text: &str) -> Piece<'s> {
        let start = self.0.len();
        self.0.push_str(text);
        Piece::Scratch(start..self.0.len())
    }

    /// The bytes as Latin-1.
    pub(super) fn keep_latin1<'s>(&mut self, bytes: &[u8]) -> Piece<'s> {
        let start = self.0.len();
        self.0.extend(bytes.iter().map(|byte| char::from(*byte)));
        Piece::Scratch(start..self.0.len())
    }

    /// Pieces, one after another.
    pub(super) fn join<'s, const N: usize>(&mut self, pieces: [&Piece<'_>; N]) -> Piece<'s> {
        let start = self.0.len();
        for piece in pieces {
            match piece {
                Piece::Input(text) => self.0.push_str(text),
                Piece::Scratch(range) => self.0.extend_from_within(range.clone()),
            }
        }
        Piece::Scratch(start..self.0.len())
    }

    /// Percent-decodes a text that has something to decode; `None` leaves it as it is.
    pub(super) fn decoded<'s>(&mut self, text: &str, reserved: &[u8]) -> Option<Piece<'s>> {
        let start = self.0.len();
        if decode_into(text, reserved, &mut self.0) {
            return Some(Piece::Scratch(start..self.0.len()));
        }
        self.0.truncate(start);
        None
    }
}

/// Characters that `decodeURI` leaves encoded, so that a decoded path means the same.
pub(super) const URI_RESERVED: &[u8] = b";/?:@&=+$,#";

/// Decodes `%XX` except those in `reserved`; U+0000 becomes U+FFFD. False, with `out` in any state, when a sequence
/// is broken or the bytes are not UTF-8: then JavaScript leaves the whole text as it is.
fn decode_into(text: &str, reserved: &[u8], out: &mut String) -> bool {
    let bytes = text.as_bytes();
    let hex = |at: usize| -> Option<u8> {
        let digits = std::str::from_utf8(bytes.get(at + 1..at + 3)?).ok()?;
        u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
    };
    let mut rest = 0;
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == b'%') {
        at += next;
        let Some(first) = hex(at) else { return false };
        if reserved.contains(&first) {
            at += 3;
            continue;
        }
        out.push_str(&text[rest..at]);
        let width = match first {
            0x00..=0x7f => 1,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return false,
        };
        let mut unit = [first, 0, 0, 0];
        for (index, byte) in unit.iter_mut().enumerate().take(width).skip(1) {
            if bytes.get(at + index * 3) != Some(&b'%') {
                return false;
            }
            let Some(next) = hex(at + index * 3) else { return false };
            *byte = next;
        }
        let Ok(character) = std::str::from_utf8(&unit[..width]) else { return false };
        out.push_str(if character == "\0" { "\u{fffd}" } else { character });
        at += width * 3;
        rest = at;
    }
    out.push_str(&text[rest..]);
    true
}
