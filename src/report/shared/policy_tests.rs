//! The policy of pages against their style.

use super::*;

/// SHA-256 by FIPS 180-4, for texts of any length.
fn sha256(text: &str) -> [u8; 32] {
    let primes: Vec<u32> = (2..400)
        .filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0))
        .take(64)
        .collect();
    // The first 32 bits of the fractional part of a root.
    let fraction = |root: f64| (root.fract() * 4_294_967_296.0) as u32;
    let k: Vec<u32> = primes.iter().map(|p| fraction(f64::from(*p).cbrt())).collect();
    let mut h: Vec<u32> = primes[..8].iter().map(|p| fraction(f64::from(*p).sqrt())).collect();
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0x80);
    while bytes.len() % 64 != 56 {
        bytes.push(0);
    }
    bytes.extend((text.len() as u64 * 8).to_be_bytes());
    for block in bytes.chunks(64) {
        let mut w: Vec<u32> = block
            .chunks(4)
            .map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")))
            .collect();
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            let next = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
            w.push(next);
        }
        let mut v = h.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let t1 =
                v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(k[i]).wrapping_add(w[i]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(t1);
            v[0] = t1.wrapping_add(s0).wrapping_add(majority);
        }
        for (sum, added) in h.iter_mut().zip(v) {
            *sum = sum.wrapping_add(added);
        }
    }
    let digest: Vec<u8> = h.iter().flat_map(|word| word.to_be_bytes()).collect();
    digest.try_into().expect("eight words")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=three.len()].copy_from_slice(three);
        let bits = u32::from_be_bytes(padded);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63] as char;
            text.push(if place > three.len() { '=' } else { digit });
        }
    }
    text
}

#[test]
fn the_hash_is_that_of_the_standard() {
    // The example of FIPS 180-4 for "abc", in base 64.
    assert_eq!(base64(&sha256("abc")), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    assert_eq!(base64(&sha256("")), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

#[test]
fn a_page_allows_its_own_style_and_nothing_else() {
    let style = format!("style-src 'sha256-{}'; base-uri", base64(&sha256(STYLE)));
    assert!(STYLE_ONLY.starts_with("default-src 'none';") && STYLE_ONLY.contains(&style));
    assert!(!STYLE.contains("</") && !STYLE.contains("<!--") && !STYLE.contains("url("));
    assert!(!STYLE.contains("//") || !STYLE.contains("http"));
}
