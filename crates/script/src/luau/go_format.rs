//! Formatting by the rules of Go's package `fmt`, as the original's interpreter does it: it hands the values of Lua to
//! Go. Values that Go would show as pointers to structures are shown as Lua's texts instead.

/// Most bytes of a result: a short format may ask for much padding.
const RESULT_BYTES_MAX: usize = 16 << 20;

/// Largest number in a format; one that is larger is none.
const NUMBER_MAX: usize = 1_000_000;

/// Digits behind the point from which on all digits of a number are zero.
const FRACTION_DIGITS_MAX: usize = 1_100;

const LOWER_DIGITS: &[u8; 17] = b"0123456789abcdefx";
const UPPER_DIGITS: &[u8; 17] = b"0123456789ABCDEFX";

/// A value of Lua.
#[derive(Clone, Copy, Debug)]
pub(super) enum Argument<'a> {
    Nil,
    Flag(bool),
    Number(f64),
    Text(&'a [u8]),
    /// Another value: the name of its type in the original, and its text.
    Other(&'static str, &'a [u8]),
}

impl Argument<'_> {
    /// The name of the value's type in the original.
    fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "*lua.LNilType",
            Self::Flag(_) => "lua.LBool",
            Self::Number(_) => "lua.LNumber",
            Self::Text(_) => "lua.LString",
            Self::Other(name, _) => name,
        }
    }
}

/// The number of arguments that are given to Go: one for each percent sign that is not written twice.
pub(super) fn arguments_max(format: &[u8]) -> usize {
    let signs = format.iter().filter(|byte| **byte == b'%').count();
    let mut rest = format;
    let mut pairs = 0;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"%%") {
        pairs += 1;
        rest = &rest[at + 2..];
    }
    signs - pairs
}

/// Formats arguments. `None` if the result would be too long.
pub(super) fn format(format: &[u8], arguments: &[Argument<'_>]) -> Option<Vec<u8>> {
    let mut printer = Printer { out: Vec::with_capacity(format.len() + 16), flags: Flags::default(), is_over: false };
    let mut parser = Parser { format, at: 0, arguments, next: 0, is_reordered: false, is_good: true };
    while parser.at < format.len() && !printer.is_over {
        let rest = &format[parser.at..];
        let literal = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
        printer.put(&rest[..literal]);
        parser.at += literal;
        if parser.at < format.len() {
            parser.at += 1;
            parser.conversion(&mut printer);
        }
    }
    if !parser.is_reordered && parser.next < arguments.len() {
        printer.extra(&arguments[parser.next..]);
    }
    (!printer.is_over).then_some(printer.out)
}

/// The flags, width and precision of a conversion.
#[derive(Clone, Copy, Default)]
struct Flags {
    sharp: bool,
    zero: bool,
    plus: bool,
    minus: bool,
    space: bool,
    /// Whether the conversion is `%#v`.
    go_syntax: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// The place in a format, and the next argument.
struct Parser<'a> {
    format: &'a [u8],
    at: usize,
    arguments: &'a [Argument<'a>],
    next: usize,
    /// Whether the format has named an argument by its number.
    is_reordered: bool,
    /// Whether the last number of an argument is that of one.
    is_good: bool,
}

impl Parser<'_> {
    fn byte(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// Formats one conversion, from behind its percent sign.
    fn conversion(&mut self, printer: &mut Printer) {
        self.is_good = true;
        let mut flags = Flags::default();
        loop {
            match self.byte() {
                Some(b'#') => flags.sharp = true,
                Some(b'0') => flags.zero = true,
                Some(b'+') => flags.plus = true,
                Some(b'-') => flags.minus = true,
                Some(b' ') => flags.space = true,
                _ => break,
            }
            self.at += 1;
        }
        let mut is_behind_index = self.index();
        if self.byte() == Some(b'*') {
            self.at += 1;
            self.star(printer, b"%!(BADWIDTH)");
            is_behind_index = false;
        } else {
            flags.width = self.number();
            self.is_good &= !(is_behind_index && flags.width.is_some());
        }
        if self.byte() == Some(b'.') && self.at + 1 < self.format.len() {
            self.at += 1;
            self.is_good &= !is_behind_index;
            is_behind_index = self.index();
            if self.byte() == Some(b'*') {
                self.at += 1;
                self.star(printer, b"%!(BADPREC)");
                is_behind_index = false;
            } else {
                flags.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !is_behind_index {
            self.index();
        }
        let Some((verb, length)) = first_character(&self.format[self.at.min(self.format.len())..]) else {
            printer.put(b"%!(NOVERB)");
            return;
        };
        self.at += length;
        if verb == 'v' {
            flags.go_syntax = std::mem::take(&mut flags.sharp);
            flags.plus = false;
        }
        printer.flags = flags;
        match self.arguments.get(self.next) {
            _ if verb == '%' => printer.put(b"%"),
            _ if !self.is_good => printer.told(verb, b"(BADINDEX)"),
            None => printer.told(verb, b"(MISSING)"),
            Some(argument) => {
                printer.argument(argument, verb);
                self.next += 1;
            }
        }
    }

    /// Passes over a width or precision that an argument is to say. No value of Lua is an integer of Go.
    fn star(&mut self, printer: &mut Printer, told: &[u8]) {
        printer.put(told);
        self.next += usize::from(self.next < self.arguments.len());
    }

    /// Reads a number. As in Go, one that is too large takes the rest of the format with it.
    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while let Some(digit) = self.byte().filter(u8::is_ascii_digit) {
            if number.is_some_and(|number| number > NUMBER_MAX) {
                self.at = self.format.len();
                return None;
            }
            number = Some(number.unwrap_or(0) * 10 + usize::from(digit - b'0'));
            self.at += 1;
        }
        number
    }

    /// Reads the number of an argument in brackets, and says whether there was one.
    fn index(&mut self) -> bool {
        if self.byte() != Some(b'[') {
            return false;
        }
        self.is_reordered = true;
        let rest = &self.format[self.at..];
        let Some(end) = rest.iter().position(|byte| *byte == b']').filter(|_| rest.len() >= 3) else {
            self.is_good = false;
            self.at += 1;
            return false;
        };
        let number = std::str::from_utf8(&rest[1..end]).ok();
        let number = number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        let number = number.and_then(|number| number.parse::<usize>().ok()).filter(|number| *number <= NUMBER_MAX);
        self.at += end + 1;
        match number {
            Some(number) if (1..=self.arguments.len()).contains(&number) => {
                self.next = number - 1;
                true
            }
            other => {
                self.is_good = false;
                other.is_some()
            }
        }
    }
}

/// The first character of a text and its bytes. A byte that is no UTF-8 is the replacement character.
fn first_character(text: &[u8]) -> Option<(char, usize)> {
    let chunk = text.utf8_chunks().next()?;
    let first = chunk.valid().chars().next();
    Some(first.map_or((char::REPLACEMENT_CHARACTER, 1), |first| (first, first.len_utf8())))
}

/// Count of the characters of a text, in which each byte that is no UTF-8 is one.
fn characters(text: &[u8]) -> usize {
    text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
}

/// The result so far, and the flags of the current conversion.
struct Printer {
    out: Vec<u8>,
    flags: Flags,
    is_over: bool,
}

impl Printer {
    fn put(&mut self, bytes: &[u8]) {
        if self.has_room(bytes.len()) {
            self.out.extend_from_slice(bytes);
        }
    }

    fn fill(&mut self, count: usize, byte: u8) {
        if self.has_room(count) {
            self.out.resize(self.out.len() + count, byte);
        }
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        self.is_over |= self.out.len().saturating_add(bytes) > RESULT_BYTES_MAX;
        !self.is_over
    }

    /// A conversion that cannot be carried out: `%!d(MISSING)`.
    fn told(&mut self, verb: char, why: &[u8]) {
        self.put(b"%!");
        self.put(verb.encode_utf8(&mut [0; 4]).as_bytes());
        self.put(why);
    }

    /// A value of a type that the conversion does not take: `%!t(string=x)`.
    fn unfit(&mut self, verb: char, type_name: &str, value: impl FnOnce(&mut Self)) {
        self.told(verb, b"(");
        self.put(type_name.as_bytes());
        self.put(b"=");
        value(self);
        self.put(b")");
    }

    /// The arguments that no conversion takes.
    fn extra(&mut self, arguments: &[Argument<'_>]) {
        self.flags = Flags::default();
        self.put(b"%!(EXTRA ");
        for (index, argument) in arguments.iter().enumerate() {
            self.put(if index > 0 { b", " } else { b"" });
            self.put(argument.type_name().as_bytes());
            self.put(b"=");
            self.argument(argument, 'v');
        }
        self.put(b")");
    }

    fn argument(&mut self, argument: &Argument<'_>, verb: char) {
        match (verb, argument) {
            ('T', _) => self.text(argument.type_name().as_bytes(), 's', "string"),
            ('w', Argument::Nil) => self.unfit(verb, argument.type_name(), |its| its.put(b"&{}")),
            ('w', _) | ('p', Argument::Flag(_) | Argument::Number(_) | Argument::Text(_)) => {
                self.unfit(verb, argument.type_name(), |its| match argument {
                    Argument::Number(number) => its.float(*number, 'v'),
                    other => its.argument(other, 'v'),
                });
            }
            (_, Argument::Number(number)) => self.number(*number, verb),
            ('d' | 'i', Argument::Text(text)) if is_number(text) => self.text(text, 's', "string"),
            ('d' | 'i', Argument::Text(_)) => self.integer(0, 'd'),
            (_, Argument::Text(text)) => self.text(text, verb, "string"),
            ('v', Argument::Nil) if self.flags.go_syntax => self.put(b"&lua.LNilType{}"),
            ('s' | 'v' | 'x' | 'X' | 'q', Argument::Nil) => self.text(b"nil", verb, "string"),
            (_, Argument::Nil) => self.put(b"&{}"),
            ('s' | 'x' | 'X' | 'q', Argument::Flag(flag)) => self.text(name_of(*flag), verb, "string"),
            ('t' | 'v', Argument::Flag(flag)) => {
                // As a text the value is cut to the precision, as a truth value it is not.
                let is_text = verb == 'v' && !self.flags.go_syntax;
                self.flags.precision = self.flags.precision.filter(|_| is_text);
                self.text(name_of(*flag), 's', "string");
            }
            (_, Argument::Flag(flag)) => self.unfit(verb, argument.type_name(), |its| its.pad(name_of(*flag))),
            ('s' | 'v' | 'x' | 'X' | 'q' | 'p', Argument::Other(_, text)) => {
                self.flags.go_syntax = false;
                self.text(text, if verb == 'p' { 's' } else { verb }, "string");
            }
            (_, Argument::Other(name, text)) => self.unfit(verb, name, |its| its.put(text)),
        }
    }

    fn number(&mut self, number: f64, verb: char) {
        match verb {
            's' | 'q' => {
                let text = number_text(number);
                self.text(text.as_bytes(), verb, "string");
            }
            'i' => self.integer(integer_of(number), 'd'),
            'b' | 'c' | 'd' | 'o' | 'x' | 'X' | 'U' => self.integer(integer_of(number), verb),
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => self.float(number, verb),
            _ if is_integer(number) => self.integer(integer_of(number), verb),
            _ => self.float(number, verb),
        }
    }

    /// Pads a text with spaces or, on its left, with zeros.
    fn pad(&mut self, text: &[u8]) {
        let missing = self.flags.width.unwrap_or(0).saturating_sub(characters(text));
        if self.flags.minus {
            self.put(text);
            self.fill(missing, b' ');
        } else {
            self.fill(missing, if self.flags.zero { b'0' } else { b' ' });
            self.put(text);
        }
    }

    fn pad_with_spaces(&mut self, text: &[u8]) {
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(text);
        self.flags.zero = zero;
    }

    fn text(&mut self, text: &[u8], verb: char, type_name: &str) {
        match verb {
            'v' if self.flags.go_syntax => self.quoted(text),
            'v' | 's' => self.pad(self.cut(text)),
            'x' => self.hexadecimal(text, LOWER_DIGITS),
            'X' => self.hexadecimal(text, UPPER_DIGITS),
            'q' => self.quoted(text),
            _ => self.unfit(verb, type_name, |its| its.pad(its.cut(text))),
        }
    }

    /// A text cut to as many characters as the precision says.
    fn cut<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let Some(mut left) = self.flags.precision else { return text };
        let mut at = 0;
        for chunk in text.utf8_chunks() {
            for length in chunk.valid().chars().map(char::len_utf8).chain(chunk.invalid().iter().map(|_| 1)) {
                if left == 0 {
                    return &text[..at];
                }
                left -= 1;
                at += length;
            }
        }
        text
    }

    fn hexadecimal(&mut self, text: &[u8], digits: &[u8; 17]) {
        let text = &text[..text.len().min(self.flags.precision.unwrap_or(usize::MAX))];
        if !self.has_room(text.len().saturating_mul(5)) {
            return;
        }
        let mut written = Vec::with_capacity(text.len() * 2);
        for (index, byte) in text.iter().enumerate() {
            if index > 0 && self.flags.space {
                written.push(b' ');
            }
            if self.flags.sharp && (index == 0 || self.flags.space) {
                written.extend([b'0', digits[16]]);
            }
            written.extend([digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
        }
        self.pad(&written);
    }

    /// A text in quotes, with the escapes of Go.
    fn quoted(&mut self, text: &[u8]) {
        let text = self.cut(text);
        if !self.has_room(text.len()) {
            return;
        }
        if self.flags.sharp && has_no_escapes(text) {
            self.pad(&[b"`".as_slice(), text, b"`"].concat());
            return;
        }
        let mut quoted = vec![b'"'];
        for chunk in text.utf8_chunks() {
            chunk.valid().chars().for_each(|character| escape(character, self.flags.plus, &mut quoted));
            chunk.invalid().iter().for_each(|byte| quoted.extend_from_slice(format!("\\x{byte:02x}").as_bytes()));
        }
        quoted.push(b'"');
        self.pad(&quoted);
    }

    fn integer(&mut self, number: i64, verb: char) {
        let (base, digits) = match verb {
            'd' | 'v' => (10, LOWER_DIGITS),
            'b' => (2, LOWER_DIGITS),
            'o' | 'O' => (8, LOWER_DIGITS),
            'x' => (16, LOWER_DIGITS),
            'X' => (16, UPPER_DIGITS),
            'c' => {
                let character = u32::try_from(number).ok().and_then(char::from_u32);
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                return self.pad(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            'U' => return self.code_point(number),
            _ => return self.unfit(verb, "int64", |its| its.integer(number, 'v')),
        };
        let Flags { sharp, zero, plus, minus, space, width, precision, .. } = self.flags;
        if precision == Some(0) && number == 0 {
            return self.fill(width.unwrap_or(0), b' ');
        }
        let sign: &[u8] = match number < 0 {
            true => b"-",
            false if plus => b"+",
            false if space => b" ",
            false => b"",
        };
        let digits_min = match (precision, width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if zero && !minus => width.saturating_sub(sign.len()),
            _ => 0,
        };
        if !self.has_room(digits_min) {
            return;
        }
        let mut reversed = Vec::new();
        let mut rest = number.unsigned_abs();
        while rest > 0 || reversed.is_empty() {
            reversed.push(digits[(rest % base) as usize]);
            rest /= base;
        }
        reversed.resize(reversed.len().max(digits_min), b'0');
        match base {
            2 if sharp => reversed.extend(b"b0"),
            8 if sharp && reversed.last() != Some(&b'0') => reversed.push(b'0'),
            16 if sharp => reversed.extend([digits[16], b'0']),
            _ => {}
        }
        if verb == 'O' {
            reversed.extend(b"o0");
        }
        reversed.extend(sign);
        reversed.reverse();
        self.pad_with_spaces(&reversed);
    }

    /// A number as a character's: `U+0041`.
    fn code_point(&mut self, number: i64) {
        let digits_min = self.flags.precision.unwrap_or(0).max(4);
        if !self.has_room(digits_min) {
            return;
        }
        let digits = format!("{number:X}");
        let zeros = digits_min.saturating_sub(digits.len());
        let mut written = [b"U+".as_slice(), &vec![b'0'; zeros], digits.as_bytes()].concat();
        let character = u32::try_from(number).ok().and_then(char::from_u32).filter(|character| is_printed(*character));
        if let Some(character) = character.filter(|_| self.flags.sharp) {
            written.extend_from_slice(format!(" '{character}'").as_bytes());
        }
        self.pad_with_spaces(&written);
    }

    fn float(&mut self, number: f64, verb: char) {
        let (form, default) = match verb {
            'v' => ('g', None),
            'g' | 'G' => (verb, None),
            'e' | 'E' | 'f' => (verb, Some(6)),
            'F' => ('f', Some(6)),
            _ => return self.unfit(verb, "float64", |its| its.float(number, 'v')),
        };
        let Flags { sharp, zero, plus, minus, space, width, precision, .. } = self.flags;
        let precision = precision.or(default);
        if !self.has_room(precision.unwrap_or(0)) {
            return;
        }
        let sign = match number.is_sign_negative() && !number.is_nan() {
            true => b'-',
            false if space && !plus => b' ',
            false => b'+',
        };
        if number.is_nan() {
            let shown = [sign, b'N', b'a', b'N'];
            return self.pad_with_spaces(if plus || space { &shown } else { &shown[1..] });
        }
        if number.is_infinite() {
            return self.pad_with_spaces(&[sign, b'I', b'n', b'f']);
        }
        let mut written = unsigned(number.abs(), form, precision);
        if sharp {
            keep_point(&mut written, form, precision);
        }
        if !plus && sign == b'+' {
            return self.pad(&written);
        }
        let missing = width.unwrap_or(0).saturating_sub(written.len() + 1);
        if zero && !minus && missing > 0 {
            self.put(&[sign]);
            self.fill(missing, b'0');
            self.put(&written);
        } else {
            written.insert(0, sign);
            self.pad(&written);
        }
    }
}

fn name_of(flag: bool) -> &'static [u8] {
    if flag { b"true" } else { b"false" }
}

/// Whether the original's interpreter takes a text for a number.
fn is_number(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let text = text.trim_matches([' ', '\t', '\n']);
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).to_ascii_lowercase();
    let prefixed = [("0x", 16), ("0b", 2), ("0o", 8)].into_iter();
    let is_prefixed = prefixed.filter_map(|(prefix, base)| Some((unsigned.strip_prefix(prefix)?, base)));
    is_prefixed.clone().any(|(digits, base)| i64::from_str_radix(digits, base).is_ok()) || text.parse::<f64>().is_ok()
}

/// A number as a whole number; those that have none are the least one, as on the processors that the original runs on.
fn integer_of(number: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number) { number as i64 } else { i64::MIN }
}

fn is_integer(number: f64) -> bool {
    integer_of(number) as f64 == number
}

/// The text of a number as the original's interpreter writes it.
fn number_text(number: f64) -> String {
    if is_integer(number) {
        return integer_of(number).to_string();
    }
    let mut printer = Printer { out: Vec::new(), flags: Flags::default(), is_over: false };
    printer.float(number, 'v');
    String::from_utf8_lossy(&printer.out).into_owned()
}

/// A number that is not negative, in one of the forms `e`, `f` and `g`. Without a precision it has the digits that it
/// needs.
fn unsigned(number: f64, form: char, precision: Option<usize>) -> Vec<u8> {
    match form {
        'f' => {
            let exact = precision.unwrap_or(0).min(FRACTION_DIGITS_MAX);
            let zeros = precision.unwrap_or(0) - exact;
            [format!("{number:.exact$}").as_bytes(), &vec![b'0'; zeros]].concat()
        }
        'e' | 'E' => {
            let precision = precision.unwrap_or(0);
            let exact = precision.min(FRACTION_DIGITS_MAX);
            let written = format!("{number:.exact$e}");
            let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
            let exponent = exponent.parse::<i32>().unwrap_or(0);
            let zeros = vec![b'0'; precision - exact];
            [digits.as_bytes(), &zeros, exponent_text(form, exponent).as_bytes()].concat()
        }
        _ => general(number, if form == 'G' { 'E' } else { 'e' }, precision),
    }
}

fn exponent_text(letter: char, exponent: i32) -> String {
    format!("{letter}{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// The form `g`: without an exponent where that is short enough. `letter` stands before an exponent.
fn general(number: f64, letter: char, precision: Option<usize>) -> Vec<u8> {
    let significant = precision.map(|precision| precision.clamp(1, FRACTION_DIGITS_MAX));
    let written = match significant {
        Some(significant) => format!("{number:.*e}", significant - 1),
        None => format!("{number:e}"),
    };
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let count = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    let digits = &digits[..count.max(1)];
    // Digits before the point; of zero none.
    let before = if count == 0 { 0 } else { i64::from(exponent) + 1 };
    let exponent_max = match significant {
        None => 6,
        Some(significant) if significant > count && count as i64 >= before => count as i64,
        Some(significant) => significant as i64,
    };
    if before - 1 < -4 || before > exponent_max {
        let fraction = if digits.len() > 1 { [b".".as_slice(), &digits[1..]].concat() } else { Vec::new() };
        return [&digits[..1], &fraction, exponent_text(letter, exponent).as_bytes()].concat();
    }
    let Ok(whole) = usize::try_from(before) else {
        let zeros = vec![b'0'; before.unsigned_abs() as usize];
        return [b"0.".as_slice(), &zeros, digits].concat();
    };
    match digits.len() {
        _ if count == 0 => b"0".to_vec(),
        length if length <= whole => [digits, &vec![b'0'; whole - length]].concat(),
        _ if whole == 0 => [b"0.".as_slice(), digits].concat(),
        _ => [&digits[..whole], b".", &digits[whole..]].concat(),
    }
}

/// Gives a number a point, and in the form `g` the zeros at its end.
fn keep_point(written: &mut Vec<u8>, form: char, precision: Option<usize>) {
    let tail = match written.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => written.split_off(at),
        None => Vec::new(),
    };
    let mut digits = if matches!(form, 'g' | 'G') { precision.unwrap_or(6) } else { 0 };
    let significant = written.iter().filter(|byte| **byte != b'.').skip_while(|byte| **byte == b'0').count();
    digits = digits.saturating_sub(significant);
    if !written.contains(&b'.') {
        // The digit of a zero counts.
        digits = digits.saturating_sub(usize::from(written == b"0"));
        written.push(b'.');
    }
    written.resize(written.len() + digits, b'0');
    written.extend(tail);
}

/// Whether Go prints a character as it is: letters, marks, numbers, punctuation, symbols and the space.
fn is_printed(character: char) -> bool {
    // The first character is escaped by another rule than all others.
    matches!(character, '"' | '\'' | '\\') || !format!("a{character}").escape_debug().skip(1).any(|one| one == '\\')
}

/// Whether a text can stand between backquotes.
fn has_no_escapes(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    !text.chars().any(|one| matches!(one, '`' | '\u{7f}' | '\u{feff}') || one < ' ' && one != '\t')
}

fn escape(character: char, is_ascii: bool, quoted: &mut Vec<u8>) {
    let number = u32::from(character);
    let escaped = match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\u{7}' => "\\a".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\u{b}' => "\\v".to_owned(),
        _ if (character.is_ascii() || !is_ascii) && is_printed(character) => character.to_string(),
        _ if number < 0x20 || number == 0x7f => format!("\\x{number:02x}"),
        _ if number < 0x1_0000 => format!("\\u{number:04x}"),
        _ => format!("\\U{number:08x}"),
    };
    quoted.extend_from_slice(escaped.as_bytes());
}

#[cfg(test)]
mod tests;
