//! Answers that come in chunks (RFC 9112 §7.1).
//!
//! INVARIANT: a chunk is as long as it says, and ends where it says, or the answer is broken. Extensions and trailers are
//! passed over, and are short.

use bytes::{Buf as _, Bytes, BytesMut};

use super::error::Broken;

/// How far the chunks of an answer have been read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chunks {
    /// The line that says how long the next one is.
    Size,
    /// So much of one is still to come.
    Data(u64),
    /// The end of its last line.
    DataEnd,
    /// What comes after the last one; so much of it there was already.
    Trailers(usize),
    /// Nothing more.
    Over,
}

/// What was found.
#[derive(Debug)]
pub(super) enum Found {
    /// Some of the answer.
    Piece(Bytes),
    /// More has to come first.
    Wait,
    /// The end.
    End,
}

impl Chunks {
    /// Takes the next piece of the answer out of what has come.
    pub(super) fn take(&mut self, buffer: &mut BytesMut) -> Result<Found, Broken> {
        loop {
            match *self {
                Self::Size => {
                    let Some(line) = line(buffer, MOST_LINE)? else { return Ok(Found::Wait) };
                    *self = match size(&line)? {
                        0 => Self::Trailers(0),
                        size => Self::Data(size),
                    };
                }
                Self::Data(left) => {
                    if buffer.is_empty() {
                        return Ok(Found::Wait);
                    }
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
                    let left = left.saturating_sub(u64::try_from(here).unwrap_or(u64::MAX));
                    *self = if left == 0 { Self::DataEnd } else { Self::Data(left) };
                    return Ok(Found::Piece(buffer.split_to(here).freeze()));
                }
                Self::DataEnd => {
                    if buffer.len() < 2 {
                        return Ok(Found::Wait);
                    }
                    if !buffer.starts_with(b"\r\n") {
                        return Err(Broken::NotHttp);
                    }
                    buffer.advance(2);
                    *self = Self::Size;
                }
                Self::Trailers(so_far) => {
                    let most = MOST_TRAILERS.saturating_sub(so_far);
                    let Some(line) = line(buffer, most)? else { return Ok(Found::Wait) };
                    *self = match line.len() {
                        0 => Self::Over,
                        length => Self::Trailers(so_far.saturating_add(length).saturating_add(2)),
                    };
                }
                Self::Over => return Ok(Found::End),
            }
        }
    }
}

/// The next line, without its end; `None`: it is not there yet.
fn line(buffer: &mut BytesMut, most: usize) -> Result<Option<Bytes>, Broken> {
    let Some(at) = memchr::memchr(b'\n', buffer) else {
        return if buffer.len() > most { Err(Broken::NotHttp) } else { Ok(None) };
    };
    if at > most {
        return Err(Broken::NotHttp);
    }
    let mut line = buffer.split_to(at.saturating_add(1)).freeze();
    // A line ends with both characters: one alone is where readers disagree.
    if !line.ends_with(b"\r\n") {
        return Err(Broken::NotHttp);
    }
    line.truncate(line.len().saturating_sub(2));
    Ok(Some(line))
}

/// How long a chunk says it is.
fn size(line: &[u8]) -> Result<u64, Broken> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
    let is_hex =
        !digits.is_empty() && digits.len() <= MOST_DIGITS && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| is_hex).ok_or(Broken::NotHttp)?;
    u64::from_str_radix(text, 16).map_err(|_| Broken::NotHttp)
}

const MOST_DIGITS: usize = 15;
const MOST_LINE: usize = 4 * 1024;
const MOST_TRAILERS: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use proptest::prelude::{Strategy as _, any, prop_assert_eq, proptest};

    use super::{Broken, Chunks, Found};

    /// What is read of an answer that comes in these pieces; `None`: it has not ended.
    fn read(pieces: &[&[u8]]) -> Result<Option<Vec<u8>>, Broken> {
        let (mut chunks, mut buffer, mut whole) = (Chunks::Size, BytesMut::new(), Vec::new());
        for piece in pieces {
            buffer.extend_from_slice(piece);
            loop {
                match chunks.take(&mut buffer)? {
                    Found::Piece(bytes) => whole.extend_from_slice(&bytes),
                    Found::Wait => break,
                    Found::End => return Ok(Some(whole)),
                }
            }
        }
        Ok(None)
    }

    #[test]
    fn chunks_are_put_together_without_their_extensions_and_trailers() {
        let answer = b"4;a=b\r\nWiki\r\n5 \r\npedia\r\n0\r\nExpires: never\r\n\r\n";
        assert_eq!(read(&[answer]).unwrap(), Some(b"Wikipedia".to_vec()));
        assert_eq!(read(&[b"4\r\nWiki\r\n"]).unwrap(), None);
    }

    #[test]
    fn what_two_readers_could_read_in_two_ways_is_broken() {
        let lines: [&[u8]; 8] = [
            b"4\nWiki\r\n0\r\n\r\n",
            b"4\r\nWiki0\r\n\r\n",
            b"4\r\nWikis\r\n0\r\n\r\n",
            b"0x4\r\nWiki\r\n0\r\n\r\n",
            b"+4\r\nWiki\r\n0\r\n\r\n",
            b" 4\r\nWiki\r\n0\r\n\r\n",
            b"\r\nWiki\r\n",
            b"10000000000000004\r\nWiki\r\n0\r\n\r\n",
        ];
        for line in lines {
            assert!(read(&[line]).is_err(), "{}", String::from_utf8_lossy(line));
        }
        let endless = vec![b'1'; 5000];
        assert!(read(&[&endless]).is_err());
        let mut trailers = b"0\r\n".to_vec();
        trailers.extend(b"a: b\r\n".repeat(4000));
        assert!(read(&[&trailers]).is_err());
    }

    proptest! {
        /// However an answer is cut up on its way, it is the same.
        #[test]
        fn where_it_is_cut_makes_no_difference(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..6),
            cuts in proptest::collection::vec(1_usize..9, 1..200).prop_map(|cuts| cuts),
        ) {
            let mut sent = Vec::new();
            for chunk in &chunks {
                sent.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                sent.extend(chunk);
                sent.extend(b"\r\n");
            }
            sent.extend(b"0\r\n\r\n");
            let mut pieces = Vec::new();
            let mut rest = sent.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break }
                let (piece, left) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = left;
            }
            prop_assert_eq!(read(&pieces).unwrap(), Some(chunks.concat()));
        }
    }
}
