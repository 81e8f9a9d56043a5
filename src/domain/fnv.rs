//! Short names for long lists.

/// A number for some texts, the same on every machine and in every version: FNV-1a of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds a text, and where it ends.
    pub(crate) fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(crate) fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_that_of_the_published_algorithm() {
        // FNV-1a of 64 bits: 0xcbf29ce484222325 for nothing, and for "a" 0xaf63dc4c8601ec8c,
        // as its authors publish it. The byte that ends a text is one more step.
        assert_eq!(Fnv::default().hex(), "cbf29ce484222325");
        let mut hash = Fnv::default();
        hash.add("a");
        let ended = (0xaf63_dc4c_8601_ec8c_u64 ^ 0xff).wrapping_mul(0x0100_0000_01b3);
        assert_eq!(hash.hex(), format!("{ended:016x}"));
        let (mut left, mut right) = (Fnv::default(), Fnv::default());
        for (first, second) in [("ab", "a"), ("c", "bc")] {
            left.add(first);
            right.add(second);
        }
        assert_ne!(left, right);
    }
}
