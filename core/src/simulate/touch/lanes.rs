//! Four numbers at a time, as the processor has registers for them.
//!
//! What is compiled for these must be inlined into where they were chosen: so there are no closures here, nor where these
//! are used.

use pulp::Simd;
use std::ops::{Add, Div, Mul, Sub};

/// One number of each of four things.
pub type Four = [f64; 4];

/// A vector of each.
pub type Triple = [Four; 3];

/// Four numbers in a register.
#[derive(Clone, Copy)]
pub struct Lanes<S: Simd> {
    simd: S,
    v: S::f64s,
}

/// Those of two things.
#[inline(always)]
pub fn both<S: Simd>(simd: S, of: &[Four; 2]) -> [Lanes<S>; 2] {
    [Lanes::of(simd, &of[0]), Lanes::of(simd, &of[1])]
}

/// The same of vectors.
#[inline(always)]
pub fn both_vectors<S: Simd>(simd: S, of: &[Triple; 2]) -> [Three<S>; 2] {
    [Three::of(simd, &of[0]), Three::of(simd, &of[1])]
}

/// Puts them back.
#[inline(always)]
pub fn put<S: Simd>(from: Lanes<S>, to: &mut Four) {
    S::as_mut_simd_f64s(to).0[0] = from.v;
}

impl<S: Simd> Lanes<S> {
    /// Four different ones.
    #[inline(always)]
    pub fn of(simd: S, four: &Four) -> Lanes<S> {
        Lanes { simd, v: S::as_simd_f64s(four).0[0] }
    }

    /// The same four times.
    #[inline(always)]
    pub fn all(simd: S, one: f64) -> Lanes<S> {
        Lanes { simd, v: simd.splat_f64s(one) }
    }

    /// What they are in.
    #[inline(always)]
    pub fn simd(self) -> S {
        self.simd
    }

    /// One by one.
    #[inline(always)]
    pub fn each(self) -> Four {
        let mut four = [0.0; 4];
        put(self, &mut four);
        four
    }

    /// The first of each of four, then the second, and so on.
    #[inline(always)]
    pub fn turned(four: [Lanes<S>; 4]) -> [Lanes<S>; 4] {
        let [a, b, c, d] = four;
        let [x, y, z, w] = a.simd.deinterleave_shfl_f64s([a.v, b.v, c.v, d.v]);
        [a.with(x), a.with(y), a.with(z), a.with(w)]
    }

    #[inline(always)]
    fn with(self, v: S::f64s) -> Lanes<S> {
        Lanes { simd: self.simd, v }
    }

    /// Without their signs.
    #[inline(always)]
    pub fn abs(self) -> Lanes<S> {
        self.with(self.simd.abs_f64s(self.v))
    }

    /// Square roots.
    #[inline(always)]
    pub fn sqrt(self) -> Lanes<S> {
        self.with(self.simd.sqrt_f64s(self.v))
    }

    /// `yes` where these are above `limit`, else `no`.
    #[inline(always)]
    pub fn if_more(self, limit: Lanes<S>, yes: Lanes<S>, no: Lanes<S>) -> Lanes<S> {
        let above = self.simd.greater_than_f64s(self.v, limit.v);
        self.with(self.simd.select_f64s(above, yes.v, no.v))
    }

    /// The larger ones. (Libraries and processors differ in what that is of numbers that are none, and of signs of zero.)
    #[inline(always)]
    pub fn or_more(self, least: Lanes<S>) -> Lanes<S> {
        self.if_more(least, self, least)
    }

    /// The smaller ones.
    #[inline(always)]
    pub fn or_less(self, most: Lanes<S>) -> Lanes<S> {
        self.if_more(most, most, self)
    }
}

macro_rules! operator {
    ($trait:ident, $name:ident, $of:ident) => {
        impl<S: Simd> $trait for Lanes<S> {
            type Output = Lanes<S>;

            #[inline(always)]
            fn $name(self, by: Lanes<S>) -> Lanes<S> {
                self.with(self.simd.$of(self.v, by.v))
            }
        }
    };
}

operator!(Add, add, add_f64s);
operator!(Sub, sub, sub_f64s);
operator!(Mul, mul, mul_f64s);
operator!(Div, div, div_f64s);

/// Four vectors.
#[derive(Clone, Copy)]
pub struct Three<S: Simd> {
    pub x: Lanes<S>,
    pub y: Lanes<S>,
    pub z: Lanes<S>,
}

impl<S: Simd> Three<S> {
    #[inline(always)]
    pub fn of(simd: S, triple: &Triple) -> Three<S> {
        let [x, y, z] = triple;
        Three { x: Lanes::of(simd, x), y: Lanes::of(simd, y), z: Lanes::of(simd, z) }
    }

    #[inline(always)]
    pub fn dot(self, v: Three<S>) -> Lanes<S> {
        self.x * v.x + self.y * v.y + self.z * v.z
    }

    #[inline(always)]
    pub fn cross(self, v: Three<S>) -> Three<S> {
        Three {
            x: self.y * v.z - self.z * v.y,
            y: self.z * v.x - self.x * v.z,
            z: self.x * v.y - self.y * v.x,
        }
    }
}

impl<S: Simd> Add for Three<S> {
    type Output = Three<S>;

    #[inline(always)]
    fn add(self, v: Three<S>) -> Three<S> {
        Three { x: self.x + v.x, y: self.y + v.y, z: self.z + v.z }
    }
}

impl<S: Simd> Sub for Three<S> {
    type Output = Three<S>;

    #[inline(always)]
    fn sub(self, v: Three<S>) -> Three<S> {
        Three { x: self.x - v.x, y: self.y - v.y, z: self.z - v.z }
    }
}

impl<S: Simd> Mul<Lanes<S>> for Three<S> {
    type Output = Three<S>;

    #[inline(always)]
    fn mul(self, by: Lanes<S>) -> Three<S> {
        Three { x: self.x * by, y: self.y * by, z: self.z * by }
    }
}
