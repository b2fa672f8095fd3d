//! Spatial vectors and matrices (Featherstone 2008, chapter 2), in blocks of three, about the world's origin.

use glam::{DMat3, DVec3};
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// How something moves: the turn, and the velocity of what is at the world's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// Angular velocity, rad/s.
    pub angular: DVec3,
    /// Velocity at the origin, units/s.
    pub linear: DVec3,
}

/// A force and its torque about the world's origin; or a momentum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Force {
    /// About the origin.
    pub torque: DVec3,
    /// The force itself.
    pub force: DVec3,
}

/// A linear map from motions to forces (an inertia), or from motions to motions: rows first, turns before translations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spatial {
    /// Of the turn, into the first half.
    pub aa: DMat3,
    /// Of the velocity, into the first half.
    pub al: DMat3,
    /// Of the turn, into the second half.
    pub la: DMat3,
    /// Of the velocity, into the second half.
    pub ll: DMat3,
}

/// The matrix of `v x`.
#[inline]
pub fn skew(v: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, v.z, -v.y), DVec3::new(-v.z, 0.0, v.x), DVec3::new(v.y, -v.x, 0.0))
}

impl Motion {
    /// A turn about an axis through a point.
    #[inline]
    pub fn turn(axis: DVec3, point: DVec3) -> Motion {
        Motion { angular: axis, linear: point.cross(axis) }
    }

    /// The velocity of what is at `point`.
    #[inline]
    pub fn at(&self, point: DVec3) -> DVec3 {
        self.linear + self.angular.cross(point)
    }

    /// How `other` changes for being carried along by this.
    #[inline]
    pub fn cross(&self, other: &Motion) -> Motion {
        Motion {
            angular: self.angular.cross(other.angular),
            linear: self.angular.cross(other.linear) + self.linear.cross(other.angular),
        }
    }

    /// How a force or momentum changes for being carried along by this.
    #[inline]
    pub fn cross_force(&self, f: &Force) -> Force {
        Force {
            torque: self.angular.cross(f.torque) + self.linear.cross(f.force),
            force: self.angular.cross(f.force),
        }
    }

    /// Power.
    #[inline]
    pub fn dot(&self, f: &Force) -> f64 {
        self.angular.dot(f.torque) + self.linear.dot(f.force)
    }

    /// The matrix of [`Self::cross`].
    #[inline]
    pub fn cross_matrix(&self) -> Spatial {
        let turn = skew(self.angular);
        Spatial { aa: turn, al: DMat3::ZERO, la: skew(self.linear), ll: turn }
    }
}

impl Force {
    /// A force that acts at a point, with a torque besides.
    #[inline]
    pub fn at(point: DVec3, force: DVec3, torque: DVec3) -> Force {
        Force { torque: torque + point.cross(force), force }
    }

    /// The matrix `C` with `a . C b = self . (a x b)` for motions `a` and `b`.
    #[inline]
    pub fn cross_form(&self) -> Spatial {
        // torque.(wa x wb) + force.(wa x lb + la x wb)
        let (t, f) = (skew(self.torque), skew(self.force));
        Spatial { aa: -t, al: -f, la: -f, ll: DMat3::ZERO }
    }
}

impl Spatial {
    /// Nothing.
    pub const ZERO: Spatial = Spatial { aa: DMat3::ZERO, al: DMat3::ZERO, la: DMat3::ZERO, ll: DMat3::ZERO };

    /// The inertia of a body: mass, where its centre is, and its inertia about that, all in the world.
    pub fn inertia(mass: f64, centre: DVec3, about: DMat3) -> Spatial {
        let c = skew(centre);
        Spatial {
            aa: about - c * c * mass,
            al: c * mass,
            la: -c * mass,
            ll: DMat3::from_diagonal(DVec3::splat(mass)),
        }
    }

    /// Rows for columns.
    #[inline]
    pub fn transpose(&self) -> Spatial {
        Spatial {
            aa: self.aa.transpose(),
            al: self.la.transpose(),
            la: self.al.transpose(),
            ll: self.ll.transpose(),
        }
    }

    /// What a motion becomes.
    #[inline]
    pub fn force(&self, m: &Motion) -> Force {
        Force {
            torque: self.aa * m.angular + self.al * m.linear,
            force: self.la * m.angular + self.ll * m.linear,
        }
    }

    /// One after the other, `other` first.
    #[inline]
    pub fn after(&self, other: &Spatial) -> Spatial {
        Spatial {
            aa: self.aa * other.aa + self.al * other.la,
            al: self.aa * other.al + self.al * other.ll,
            la: self.la * other.aa + self.ll * other.la,
            ll: self.la * other.al + self.ll * other.ll,
        }
    }

    /// `a b^T` of two forces, `scale` times.
    #[inline]
    pub fn outer(a: &Force, b: &Force, scale: f64) -> Spatial {
        let o =
            |a: DVec3, b: DVec3| DMat3::from_cols(a * (b.x * scale), a * (b.y * scale), a * (b.z * scale));
        Spatial {
            aa: o(a.torque, b.torque),
            al: o(a.torque, b.force),
            la: o(a.force, b.torque),
            ll: o(a.force, b.force),
        }
    }
}

macro_rules! sums {
    ($t:ty { $($f:ident),* }) => {
        impl Add for $t {
            type Output = $t;
            #[inline]
            fn add(self, o: $t) -> $t { Self { $($f: self.$f + o.$f),* } }
        }
        impl Sub for $t {
            type Output = $t;
            #[inline]
            fn sub(self, o: $t) -> $t { Self { $($f: self.$f - o.$f),* } }
        }
        impl Neg for $t {
            type Output = $t;
            #[inline]
            fn neg(self) -> $t { Self { $($f: -self.$f),* } }
        }
        impl Mul<f64> for $t {
            type Output = $t;
            #[inline]
            fn mul(self, s: f64) -> $t { Self { $($f: self.$f * s),* } }
        }
        impl AddAssign for $t {
            #[inline]
            fn add_assign(&mut self, o: $t) { *self = *self + o; }
        }
        impl SubAssign for $t {
            #[inline]
            fn sub_assign(&mut self, o: $t) { *self = *self - o; }
        }
    };
}
sums!(Motion { angular, linear });
sums!(Force { torque, force });
sums!(Spatial { aa, al, la, ll });
