//! One point of contact as the solver sees it, and sweeps over many (projected Gauss-Seidel, Jean and Moreau 1992).
//!
//! A sweep visits every point once. There it takes the relative velocity, finds the normal impulse that brings it to what
//! is wanted (only ever pushing), then the tangential one that stops the sliding, cut to Coulomb's cone.

use super::body::{Body, Twist};
use glam::{DMat3, DVec3};

/// A body, as far as sweeps need it.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    pub now: Twist,
    pub per_mass: f64,
    pub per_inertia: DMat3,
}

impl Moved {
    pub fn new(body: &Body) -> Moved {
        Moved { now: body.free, per_mass: body.per_mass, per_inertia: body.per_inertia }
    }

    #[inline(always)]
    fn push(&mut self, impulse: DVec3, lever: DVec3) {
        self.now.velocity += impulse * self.per_mass;
        self.now.spin += self.per_inertia * lever.cross(impulse);
    }
}

/// One point.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The two bodies, by their numbers in the island.
    pub bodies: [u32; 2],
    /// Normal from the first to the second, and two directions across it.
    pub axes: [DVec3; 3],
    /// From the bodies' centres to the point.
    pub levers: [DVec3; 2],
    /// Least velocity of parting that is wanted.
    pub wanted: f64,
    /// Velocity of parting lost per impulse: that of an elastic coating.
    pub give: f64,
    /// Coefficients of friction before and after it slides.
    pub grip: f64,
    pub slide: f64,
    /// Impulses along the axes.
    pub impulse: DVec3,
    per_normal: f64,
    /// Change of the tangential velocities per normal impulse, and the inverse of that per tangential one.
    skew: [f64; 2],
    across: [f64; 3],
}

/// Two directions across a unit vector, without a jump where scenes have their axes.
#[inline]
pub fn across(n: DVec3) -> [DVec3; 3] {
    let (t, s) = n.any_orthonormal_pair();
    [n, t, s]
}

impl Row {
    /// A point of contact between two bodies.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        bodies: [u32; 2],
        axes: [DVec3; 3],
        levers: [DVec3; 2],
        wanted: f64,
        give: f64,
        (grip, slide): (f64, f64),
        a: &Moved,
        b: &Moved,
    ) -> Row {
        // Columns of the matrix that gives velocities for impulses.
        let column = |d: DVec3| {
            let one =
                |m: &Moved, lever: DVec3| d * m.per_mass + (m.per_inertia * lever.cross(d)).cross(lever);
            one(a, levers[0]) + one(b, levers[1])
        };
        let [n, t, s] = axes;
        let (kn, kt, ks) = (column(n), column(t), column(s));
        let (tt, ts, ss) = (t.dot(kt), t.dot(ks), s.dot(ks));
        let det = tt * ss - ts * ts;
        let per = if det > 1e-12 * tt * ss { 1.0 / det } else { 0.0 };
        let normal = n.dot(kn) + give;
        Row {
            bodies,
            axes,
            levers,
            wanted,
            give,
            grip,
            slide,
            impulse: DVec3::ZERO,
            per_normal: if normal > 0.0 { 1.0 / normal } else { 0.0 },
            skew: [t.dot(kn), s.dot(kn)],
            across: [ss * per, -ts * per, tt * per],
        }
    }

    /// The impulse in the world.
    #[inline(always)]
    pub fn in_world(&self) -> DVec3 {
        self.axes[0] * self.impulse.x + self.axes[1] * self.impulse.y + self.axes[2] * self.impulse.z
    }

    /// Applies what it starts with.
    #[inline]
    pub fn start(&self, bodies: &mut [Moved]) {
        if self.impulse != DVec3::ZERO {
            let impulse = self.in_world();
            bodies[self.bodies[0] as usize].push(-impulse, self.levers[0]);
            bodies[self.bodies[1] as usize].push(impulse, self.levers[1]);
        }
    }

    /// Visits the point once; returns by how much its velocities were off.
    #[inline(always)]
    fn visit(&mut self, bodies: &mut [Moved]) -> f64 {
        let [a, b] = self.bodies.map(|i| i as usize);
        let [n, t, s] = self.axes;
        let v = bodies[b].now.at(self.levers[1]) - bodies[a].now.at(self.levers[0]);
        let old = self.impulse;
        let lacking = self.wanted - n.dot(v) - self.give * old.x;
        let normal = (old.x + lacking * self.per_normal).max(0.0);
        let dn = normal - old.x;
        let (vt, vs) = (t.dot(v) + self.skew[0] * dn, s.dot(v) + self.skew[1] * dn);
        let [tt, ts, ss] = self.across;
        let mut y = old.y - (tt * vt + ts * vs);
        let mut z = old.z - (ts * vt + ss * vs);
        let square = y * y + z * z;
        let most = self.grip * normal;
        if square > most * most {
            let cut = self.slide * normal / square.sqrt();
            y *= cut;
            z *= cut;
        }
        self.impulse = DVec3::new(normal, y, z);
        let (dt, ds) = (y - old.y, z - old.z);
        if dn == 0.0 && dt == 0.0 && ds == 0.0 {
            return 0.0;
        }
        let impulse = n * dn + t * dt + s * ds;
        bodies[a].push(-impulse, self.levers[0]);
        bodies[b].push(impulse, self.levers[1]);
        // Velocities that these changes stand for.
        dn.abs().max(dt.abs()).max(ds.abs()) / self.per_normal.max(1e-300)
    }
}

/// Visits all points, there or back; returns by how much velocities were off at most.
pub fn sweep(rows: &mut [Row], bodies: &mut [Moved], back: bool) -> f64 {
    let mut most = 0.0_f64;
    if back {
        for row in rows.iter_mut().rev() {
            most = most.max(row.visit(bodies));
        }
    } else {
        for row in rows.iter_mut() {
            most = most.max(row.visit(bodies));
        }
    }
    most
}
