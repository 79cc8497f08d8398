//! Encodings: UTF-16, as PowerShell writes it, becomes UTF-8 block by block; compressed files are told by their first bytes.

/// How the bytes of a log are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// As they are.
    #[default]
    Bytes,
    /// Two bytes a unit, the lower first.
    Utf16Le,
    /// Two bytes a unit, the higher first.
    Utf16Be,
}

/// The first bytes that are looked at to tell an encoding without a mark.
const SAMPLE: usize = 4 << 10;

impl Encoding {
    /// By the first bytes of a log: its mark, or that every other byte of them is zero.
    pub fn of(start: &[u8]) -> Self {
        if start.starts_with(&[0xff, 0xfe]) {
            return Self::Utf16Le;
        }
        if start.starts_with(&[0xfe, 0xff]) {
            return Self::Utf16Be;
        }
        let sample = start.get(..SAMPLE).unwrap_or(start);
        let zeros = |from: usize| sample.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
        let (even, odd, half) = (zeros(0), zeros(1), sample.len() / 2);
        // Western text; a binary file has zeros at both.
        if half >= 16 && odd > half * 3 / 4 && even < half / 16 {
            Self::Utf16Le
        } else if half >= 16 && even > half * 3 / 4 && odd < half / 16 {
            Self::Utf16Be
        } else {
            Self::Bytes
        }
    }
}

/// Turns UTF-16 into UTF-8; keeps what is cut at the end of a block.
#[derive(Debug)]
pub struct Decoder {
    big: bool,
    odd: Option<u8>,
    high: Option<u16>,
}

impl Decoder {
    /// For one of the two orders; none for bytes that stay as they are.
    pub fn new(encoding: Encoding) -> Option<Self> {
        (encoding != Encoding::Bytes).then_some(Self { big: encoding == Encoding::Utf16Be, odd: None, high: None })
    }

    /// Decodes a block.
    pub fn push(&mut self, block: &[u8]) -> Vec<u8> {
        let mut units = Vec::with_capacity(block.len() / 2 + 2);
        units.extend(self.high.take());
        for &byte in block {
            match self.odd.take() {
                None => self.odd = Some(byte),
                Some(first) => {
                    units.push(if self.big { u16::from_be_bytes([first, byte]) } else { u16::from_le_bytes([first, byte]) });
                }
            }
        }
        if units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            self.high = units.pop();
        }
        let text: String = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        text.into_bytes()
    }
}

/// What a compressed file is called, by its first bytes, with the command that unpacks it.
pub fn compression(start: &[u8]) -> Option<(&'static str, &'static str)> {
    const KINDS: &[(&[u8], &str, &str)] = &[
        (&[0x1f, 0x8b], "gzip", "zcat"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat"),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "xzcat"),
        (b"BZh", "bzip2", "bzcat"),
        (&[b'P', b'K', 3, 4], "zip", "unzip -p"),
    ];
    KINDS.iter().find(|(magic, ..)| start.starts_with(magic)).map(|(_, name, command)| (*name, *command))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, big: bool) -> Vec<u8> {
        text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    }

    #[test]
    fn utf16_is_told_with_and_without_a_mark() {
        let text = "PS C:\\> python train.py *> run.log\r\nCUDA out of memory";
        for (start, encoding) in [
            (utf16(&format!("\u{feff}{text}"), false), Encoding::Utf16Le),
            (utf16(&format!("\u{feff}{text}"), true), Encoding::Utf16Be),
            (utf16(text, false), Encoding::Utf16Le),
            (utf16(text, true), Encoding::Utf16Be),
            (text.as_bytes().to_vec(), Encoding::Bytes),
            (vec![0; 400], Encoding::Bytes),
            (Vec::new(), Encoding::Bytes),
        ] {
            assert_eq!(Encoding::of(&start), encoding);
        }
    }

    #[test]
    fn blocks_may_be_cut_anywhere() {
        let text = "GPU 0 \u{1f525} 24 GiB\n";
        for big in [false, true] {
            let bytes = utf16(text, big);
            for cut in 0..=bytes.len() {
                let mut decoder = Decoder::new(if big { Encoding::Utf16Be } else { Encoding::Utf16Le }).expect("a decoder");
                let mut out = decoder.push(&bytes[..cut]);
                out.extend(decoder.push(&bytes[cut..]));
                assert_eq!(String::from_utf8(out).expect("UTF-8"), text, "cut at {cut}");
            }
        }
    }
}
