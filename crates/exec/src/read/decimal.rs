//! Exact sums and quotients of decimals, as MySQL computes them.
//!
//! What must always hold: values are rounded only where MySQL rounds. Sums have room for more digits than DECIMAL(65).

use weir_wire::Malformed;

/// Digits in a limb.
const LIMB_DIGITS: usize = 9;
const LIMB: u64 = 1_000_000_000;

/// A number without a sign: limbs of nine digits, the lowest first, no zero at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Natural(Vec<u32>);

impl Natural {
    fn of(mut value: u128) -> Natural {
        let mut limbs = Vec::new();
        while value > 0 {
            limbs.push((value % u128::from(LIMB)) as u32);
            value /= u128::from(LIMB);
        }
        Natural(limbs)
    }

    fn is_less_than(&self, other: &Natural) -> bool {
        let order = self.0.len().cmp(&other.0.len());
        order.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev())).is_lt()
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn add(&mut self, other: &Natural) {
        let mut carry = 0;
        for at in 0..other.0.len().max(self.0.len()) {
            if at == self.0.len() {
                self.0.push(0);
            }
            let sum = u64::from(self.0[at]) + u64::from(other.0.get(at).copied().unwrap_or(0)) + carry;
            self.0[at] = (sum % LIMB) as u32;
            carry = sum / LIMB;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    /// Less `other`, which is not greater.
    fn subtract(&mut self, other: &Natural) {
        let mut borrow = 0;
        for at in 0..self.0.len() {
            let less = u64::from(other.0.get(at).copied().unwrap_or(0)) + borrow;
            let own = u64::from(self.0[at]);
            borrow = u64::from(own < less);
            self.0[at] = (own + borrow * LIMB - less) as u32;
        }
        self.trim();
    }

    /// Times `factor`, plus `addend`.
    fn scale(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for limb in &mut self.0 {
            let product = u64::from(*limb) * u64::from(factor) + carry;
            *limb = (product % LIMB) as u32;
            carry = product / LIMB;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    /// Times a power of ten.
    fn shift(&mut self, digits: usize) {
        for _ in 0..digits / LIMB_DIGITS {
            self.scale(LIMB as u32, 0);
        }
        self.scale(10_u32.pow((digits % LIMB_DIGITS) as u32), 0);
    }

    /// Divided, rounded down. Returns the rest.
    fn divide(&mut self, divisor: u64) -> u64 {
        let mut rest = 0_u128;
        for limb in self.0.iter_mut().rev() {
            let value = rest * u128::from(LIMB) + u128::from(*limb);
            // The rest is less than the divisor: the quotient is one limb.
            *limb = (value / u128::from(divisor)) as u32;
            rest = value % u128::from(divisor);
        }
        self.trim();
        rest as u64
    }

    /// The digits, at least `least` of them.
    fn digits(&self, least: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(least.max(self.0.len() * LIMB_DIGITS));
        for limb in self.0.iter().rev() {
            out.extend_from_slice(format!("{limb:09}").as_bytes());
        }
        let zeros = out.iter().take_while(|digit| **digit == b'0').count();
        let missing = least.saturating_sub(out.len());
        if missing > 0 {
            out.splice(0..0, std::iter::repeat_n(b'0', missing));
        } else {
            out.drain(..zeros.min(out.len() - least));
        }
        out
    }
}

/// A decimal: digits with a scale.
#[derive(Debug, Clone, Default)]
pub(super) struct Decimal {
    /// What fits here: most sums never need more.
    small: i128,
    /// The rest.
    large: Natural,
    large_negative: bool,
    scale: usize,
}

impl Decimal {
    /// Reads digits with or without a point and a sign.
    ///
    /// # Errors
    /// When they are no decimal.
    pub(super) fn parse(text: &[u8]) -> Result<Decimal, Malformed> {
        let mut sum = Decimal::default();
        sum.add(text)?;
        Ok(sum)
    }

    /// Adds a number.
    ///
    /// # Errors
    /// As [`Decimal::parse`].
    pub(super) fn add(&mut self, text: &[u8]) -> Result<(), Malformed> {
        const DECIMAL: Malformed = Malformed("a decimal");
        let (negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let point = memchr::memchr(b'.', digits);
        let scale = point.map_or(0, |at| digits.len() - at - 1);
        let count = digits.len() - usize::from(point.is_some());
        let values = || digits.iter().enumerate().filter(|(at, _)| Some(*at) != point).map(|(_, digit)| digit);
        if count == 0 || !values().all(u8::is_ascii_digit) {
            return Err(DECIMAL);
        }
        self.rescale(scale);
        let shift = self.scale - scale;
        // 38 digits fit.
        if count + shift <= 37 {
            let value = values().fold(0_i128, |value, digit| value * 10 + i128::from(digit - b'0'));
            let value = value * 10_i128.pow(shift as u32);
            let value = if negative { -value } else { value };
            match self.small.checked_add(value) {
                Some(sum) => self.small = sum,
                None => {
                    self.spill();
                    self.small = value;
                }
            }
            return Ok(());
        }
        let mut value = Natural::default();
        values().for_each(|digit| value.scale(10, u32::from(digit - b'0')));
        value.shift(shift);
        self.add_large(value, negative);
        Ok(())
    }

    /// Adds an integer.
    pub(super) fn add_integer(&mut self, value: i128) {
        match 10_i128.checked_pow(self.scale as u32).and_then(|unit| self.small.checked_add(value.checked_mul(unit)?)) {
            Some(sum) => self.small = sum,
            None => {
                let mut large = Natural::of(value.unsigned_abs());
                large.shift(self.scale);
                self.add_large(large, value < 0);
            }
        }
    }

    fn rescale(&mut self, scale: usize) {
        if scale <= self.scale {
            return;
        }
        let by = scale - self.scale;
        self.large.shift(by);
        match 10_i128.checked_pow(by as u32).and_then(|unit| self.small.checked_mul(unit)) {
            Some(small) => self.small = small,
            None => {
                let (mut rest, negative) = (Natural::of(self.small.unsigned_abs()), self.small < 0);
                rest.shift(by);
                self.small = 0;
                self.add_large(rest, negative);
            }
        }
        self.scale = scale;
    }

    fn spill(&mut self) {
        let small = std::mem::take(&mut self.small);
        self.add_large(Natural::of(small.unsigned_abs()), small < 0);
    }

    fn add_large(&mut self, value: Natural, negative: bool) {
        if self.large_negative == negative {
            self.large.add(&value);
        } else if self.large.is_less_than(&value) {
            let old = std::mem::replace(&mut self.large, value);
            self.large.subtract(&old);
            self.large_negative = negative;
        } else {
            self.large.subtract(&value);
        }
    }

    /// The digits without a sign, and whether it is negative.
    fn whole(mut self) -> (Natural, bool) {
        self.spill();
        self.large.trim();
        (self.large, self.large_negative)
    }

    /// As text with so many decimals: rounded half away from zero if it has more.
    pub(super) fn text(&self, decimals: usize) -> Vec<u8> {
        let (mut value, negative) = self.clone().whole();
        if decimals >= self.scale {
            value.shift(decimals - self.scale);
        } else {
            round(&mut value, self.scale - decimals);
        }
        write(&value, negative, decimals)
    }

    /// The quotient by a count, as MySQL computes an average: to a whole number of limbs, whose rest is cut off, then rounded half away
    /// from zero.
    pub(super) fn average(&self, count: u64, decimals: usize) -> Vec<u8> {
        let digits = quotient_scale(self.scale, decimals);
        let (mut value, negative) = self.clone().whole();
        value.shift(digits - self.scale);
        value.divide(count.max(1));
        round(&mut value, digits - decimals);
        write(&value, negative, decimals)
    }

    /// The same quotient with all of its digits, `scale` of them: see [`quotient_scale`].
    pub(super) fn quotient(mut self, count: u64, scale: usize) -> Vec<u8> {
        self.rescale(scale);
        let (mut value, negative) = self.whole();
        value.divide(count.max(1));
        write(&value, negative, scale)
    }

    /// As an approximate number.
    pub(super) fn float(&self) -> f64 {
        String::from_utf8_lossy(&self.text(self.scale)).parse().unwrap_or(0.0)
    }

    /// Its digits behind the point.
    pub(super) fn scale(&self) -> usize {
        self.scale
    }
}

/// How many digits behind the point MySQL computes of an average that is shown with `decimals` digits, of a sum with `scale` digits.
pub(super) fn quotient_scale(scale: usize, decimals: usize) -> usize {
    let limbs = |digits: usize| digits.next_multiple_of(LIMB_DIGITS);
    let increment = decimals.saturating_sub(scale);
    let own = limbs(scale);
    limbs(own + increment.saturating_sub(own - scale)).max(decimals)
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.partial_cmp(other) == Some(std::cmp::Ordering::Equal)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<std::cmp::Ordering> {
        let (mut own, mut others) = (self.clone(), other.clone());
        own.rescale(other.scale);
        others.rescale(self.scale);
        let ((own, negative), (others, others_negative)) = (own.whole(), others.whole());
        let (zero, others_zero) = (own.0.is_empty(), others.0.is_empty());
        let sign = |zero: bool, negative: bool| {
            if zero {
                0
            } else if negative {
                -1
            } else {
                1
            }
        };
        let (sign, others_sign) = (sign(zero, negative), sign(others_zero, others_negative));
        let size = || if own.is_less_than(&others) { -1 } else { i32::from(others.is_less_than(&own)) };
        Some(sign.cmp(&others_sign).then_with(|| (size() * sign).cmp(&0)))
    }
}

/// Leaves out the last digits, rounding half up.
fn round(value: &mut Natural, digits: usize) {
    if digits == 0 {
        return;
    }
    let mut half = Natural::of(5);
    half.shift(digits - 1);
    value.add(&half);
    for _ in 0..digits / LIMB_DIGITS {
        value.divide(LIMB);
    }
    value.divide(10_u64.pow((digits % LIMB_DIGITS) as u32));
}

fn write(value: &Natural, negative: bool, decimals: usize) -> Vec<u8> {
    let mut out = value.digits(decimals + 1);
    if decimals > 0 {
        out.insert(out.len() - decimals, b'.');
    }
    if negative && !value.0.is_empty() {
        out.insert(0, b'-');
    }
    out
}

#[cfg(test)]
mod tests;
