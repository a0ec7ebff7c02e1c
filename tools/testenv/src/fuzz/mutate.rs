//! Changes of inputs, from a seeded generator.

use crate::random::{Random, mixed};

/// A number that stands for these bytes in names of files.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(bytes.len() as u64, |hash, byte| mixed(hash ^ u64::from(*byte)))
}

/// Numbers at the edges of their types, as bytes in both orders and as varints.
const NUMBERS: [&[u8]; 14] = [
    b"\0",
    b"\x01",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff\xff",
    b"\0\0\0\x80",
    b"\x80\0\0\0",
    b"\xff\xff\xff\x7f",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
];

/// An input of the pool with some changes: bytes are replaced, removed, inserted, moved or repeated, some of them
/// often; words and parts of other inputs are put in; or the rest is cut off.
pub(super) fn mutate(random: &mut Random, pool: &[Vec<u8>], words: &[&[u8]], bytes_max: usize) -> Vec<u8> {
    let mut input = pool[random.below(pool.len())].clone();
    for _ in 0..=random.below(4) {
        change(random, &mut input, pool, words);
        input.truncate(bytes_max);
    }
    input
}

fn change(random: &mut Random, input: &mut Vec<u8>, pool: &[Vec<u8>], words: &[&[u8]]) {
    let (at, end) = part(random, input);
    match random.below(12) {
        0 if at > 0 => input.truncate(at),
        0 | 1 => drop(input.drain(at..end)),
        2 => input.insert(at, random.number().to_le_bytes()[0]),
        3 if at < input.len() => input[at] ^= 1 << random.below(8),
        4 if at < input.len() => input[at] = random.number().to_le_bytes()[0],
        5 | 6 if !words.is_empty() => put(input, at, at, words[random.below(words.len())]),
        7 if !words.is_empty() => put(input, at, end, words[random.below(words.len())]),
        8 => {
            let number = NUMBERS[random.below(NUMBERS.len())];
            let end = (at + number.len() * random.below(2)).min(input.len());
            put(input, at, end, number);
        }
        9 => {
            let other = &pool[random.below(pool.len())];
            let (start, stop) = part(random, other);
            put(input, at, end, &other[start..stop]);
        }
        10 => {
            let times = [2, 2, 3, 10, 200][random.below(5)];
            let copy = input[at..end].repeat(times);
            put(input, at, end, &copy);
        }
        11 => {
            let moved: Vec<u8> = input.drain(at..end).collect();
            let to = random.below(input.len() + 1);
            put(input, to, to, &moved);
        }
        _ => {}
    }
}

fn put(input: &mut Vec<u8>, at: usize, end: usize, bytes: &[u8]) {
    input.splice(at..end, bytes.iter().copied());
}

/// Where a part of an input begins and ends; most parts are short.
fn part(random: &mut Random, input: &[u8]) -> (usize, usize) {
    let at = random.below(input.len() + 1);
    let length_max = [4, 16, input.len() + 1][random.below(3)];
    (at, (at + random.below(length_max)).min(input.len()))
}
