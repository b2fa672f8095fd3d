//! What a body touches with: the pieces of its shape, in the axes of its node's placement.

use super::mass::{given, own_mesh};
use crate::rotation;
use crate::scene::{Placement, Pose, Scene};
use crate::setup::{Part, SetupError, Shape};
use crate::shape::{self, Closed, Geometry, Hull, Kind, Primitive, of_mesh};
use glam::{DMat3, DQuat, DVec3};

/// The pieces of a shape, and in words how they were found.
#[derive(Clone, Debug, Default)]
pub(super) struct Form {
    pub(super) pieces: Vec<Piece>,
    pub(super) how: String,
}

/// One piece.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) at: Placement,
    pub(super) geometry: Geometry,
    /// Smallest extent of what has a volume; largest of a surface, which has no inside; infinite for a half space.
    pub(super) size: f64,
}

/// A primitive stands for a mesh whose volume differs from it by no more than this share.
const SAME: f64 = 0.02;

/// The same for obstacles, which nothing is gained for by being less exact.
const SAME_OBSTACLE: f64 = 0.001;

/// A mesh is convex when its hull is larger by no more than this share: `auto`, and where the mesh itself is asked for.
const CONVEX: f64 = 0.03;
const CONVEX_MESH: f64 = 0.02;

/// A round primitive also stands for a mesh that fills no more of it than a coarse one does, if all its vertices are on
/// the primitive, within a share of its size.
const COARSE: f64 = 0.9;
const ON_SURFACE: f64 = 0.005;

/// What forms are made from.
pub(super) struct Maker<'a> {
    pub(super) scene: &'a Scene,
    pub(super) pose: &'a Pose<'a>,
    pub(super) node: usize,
    /// Whether nothing pushes it away: then it may be a surface.
    pub(super) obstacle: bool,
    pub(super) place: &'a str,
    /// Radius of a body that has neither mesh nor size.
    pub(super) reach: f64,
    /// The vertices of skins that follow a bone.
    pub(super) skin: &'a [DVec3],
}

/// A mesh in the axes of its node's placement.
struct Stretched {
    points: Vec<DVec3>,
    /// Those that have an area, winding as the mesh does in its own axes.
    triangles: Vec<[u32; 3]>,
    /// m^3, when it is closed.
    volume: Option<f64>,
}

impl Maker<'_> {
    /// The form of a shape.
    pub(super) fn form(&self, wanted: &Shape) -> Result<Form, SetupError> {
        let refuse = |why: String| Err(SetupError::new(format!("{}.shape", self.place), why));
        let obstacle_only = |kind: &str| {
            refuse(format!(
                "{} is simulated, and nothing that moves is a \"{kind}\"; make it \"static\" or \"animated\", or take another shape",
                self.scene.label(self.node)
            ))
        };
        match wanted {
            Shape::Plane {} if !self.obstacle => return obstacle_only("plane"),
            Shape::HeightField { .. } if !self.obstacle => return obstacle_only("height_field"),
            Shape::Plane {} => {
                let at = Placement::IDENTITY;
                let piece = Piece { at, geometry: Geometry::half_space(), size: f64::INFINITY };
                return Ok(Form { pieces: vec![piece], how: "everything below a plane".into() });
            }
            Shape::HeightField { heights, size } if !heights.is_empty() || size.is_some() => {
                return grid(heights, *size, self.place);
            }
            Shape::Compound { parts } => return self.compound(parts),
            _ => {}
        }
        if let Some(primitive) = given(wanted, self.place)? {
            return Ok(Form {
                pieces: vec![piece(&primitive)],
                how: format!("{}, size given", name(&primitive)),
            });
        }
        let Some(mesh) = self.mesh() else {
            let hull = matches!(wanted, Shape::Hull {}).then(|| shape::hull(self.skin)).flatten();
            if let Some(piece) = hull.and_then(|h| convex(&h)) {
                return Ok(Form { pieces: vec![piece], how: "hull of the skin that follows it".into() });
            }
            let ball = Primitive { center: DVec3::ZERO, kind: Kind::Sphere(self.reach) };
            return match wanted {
                Shape::Mesh {}
                | Shape::Hull {}
                | Shape::Parts {}
                | Shape::HeightField { .. }
                | Shape::Cone { .. } => {
                    refuse(format!("{} has no mesh; give a shape with a size", self.scene.label(self.node)))
                }
                _ => Ok(Form {
                    pieces: vec![piece(&ball)],
                    how: "no mesh: a ball by the distance of its neighbours".into(),
                }),
            };
        };
        if !mesh.points.iter().all(|p| p.is_finite()) {
            return Ok(Form::default());
        }
        let fitted = |p: Primitive| {
            Ok(Form { pieces: vec![piece(&p)], how: format!("{} fitted to the mesh", name(&p)) })
        };
        match wanted {
            Shape::Box { .. } => fitted(shape::fit_box(&mesh.points)),
            Shape::Sphere { .. } => fitted(shape::fit_sphere(&mesh.points)),
            Shape::Capsule { .. } => fitted(shape::fit_capsule(&mesh.points)),
            Shape::Cylinder { .. } => fitted(shape::fit_cylinder(&mesh.points)),
            Shape::Cone { .. } => match shape::fit_cone(&mesh.points) {
                Some(cone) => fitted(cone),
                None => refuse("the mesh has no tip along an axis; give \"radius\" and \"length\"".into()),
            },
            Shape::Hull {} => Ok(self.hull(&mesh, "hull of the mesh")),
            Shape::Parts {} => Ok(self.parts(&mesh)),
            Shape::HeightField { .. } if !rises(&mesh) => refuse(format!(
                "the mesh of {} is no height field: some of its triangles face down, others up; take \"mesh\"",
                self.scene.label(self.node)
            )),
            Shape::HeightField { .. } => Ok(self.surface(mesh)),
            Shape::Mesh {} if self.obstacle => Ok(self.surface(mesh)),
            Shape::Mesh {} => Ok(self.convex(&mesh, CONVEX_MESH)),
            _ => Ok(self.automatic(mesh)),
        }
    }

    fn compound(&self, parts: &[Part]) -> Result<Form, SetupError> {
        if parts.is_empty() {
            return Err(SetupError::new(
                format!("{}.shape.parts", self.place),
                "is empty; give at least one shape",
            ));
        }
        let mut form = Form::default();
        for (i, part) in parts.iter().enumerate() {
            let place = format!("{}.shape.parts[{i}]", self.place);
            let at = placed(part, &place)?;
            let own = Maker { place: &place, ..*self }.form(&part.shape)?;
            let moved = own.pieces.into_iter().map(|p| Piece { at: at.then(&p.at), ..p });
            form.pieces.extend(moved);
            form.how = own.how;
        }
        if parts.len() > 1 {
            form.how = format!("{} shapes as one", parts.len());
        }
        Ok(form)
    }

    fn mesh(&self) -> Option<Stretched> {
        let mesh = own_mesh(self.scene, self.node)?;
        let stretch = self.pose.stretch(self.node);
        let points: Vec<DVec3> = mesh.positions.iter().map(|p| stretch * *p).collect();
        let mirrored = stretch.determinant() < 0.0;
        let with_area = |t: &&[u32; 3]| {
            let [a, b, c] = t.map(|i| points[i as usize]);
            let longest =
                (b - a).length_squared().max((c - b).length_squared()).max((a - c).length_squared());
            (b - a).cross(c - a).length() > 1e-12 * longest
        };
        let mut triangles: Vec<[u32; 3]> = mesh.triangles.iter().filter(with_area).copied().collect();
        let facing = match shape::closed(&points, &mesh.triangles) {
            Closed::No => None,
            facing => of_mesh(&points, &mesh.triangles, 1.0).map(|m| (m.mass, facing)),
        };
        // A closed mesh is turned outside out; an open one keeps the sides that it has in its own axes.
        let inwards = facing.map_or(mirrored, |(_, f)| f == Closed::InsideOut);
        if inwards {
            triangles.iter_mut().for_each(|t| t.swap(0, 1));
        }
        Some(Stretched { points, triangles, volume: facing.map(|f| f.0) })
    }

    fn automatic(&self, mesh: Stretched) -> Form {
        if mesh.triangles.is_empty()
            && own_mesh(self.scene, self.node).is_some_and(|m| m.triangles.is_empty())
        {
            let bounds = shape::fit_box(&mesh.points);
            return Form {
                pieces: vec![piece(&bounds)],
                how: "box: only the bounds of the mesh are known".into(),
            };
        }
        let Some(volume) = mesh.volume else {
            return if self.obstacle {
                self.surface(mesh)
            } else {
                self.hull(&mesh, "hull of the open mesh")
            };
        };
        if let Some(form) = primitive(&mesh, volume, self.obstacle) {
            return form;
        }
        if self.obstacle {
            let exact = shape::hull(&mesh.points).filter(|h| h.volume() <= volume * (1.0 + SAME_OBSTACLE));
            return match exact.and_then(|h| convex(&h)) {
                Some(piece) => Form { pieces: vec![piece], how: "convex mesh".into() },
                None => self.surface(mesh),
            };
        }
        self.convex(&mesh, CONVEX)
    }

    /// The hull if the mesh is convex within a share of its volume, else parts.
    fn convex(&self, mesh: &Stretched, within: f64) -> Form {
        let whole = shape::hull(&mesh.points);
        let larger = match (&whole, mesh.volume) {
            (Some(h), Some(v)) => h.volume() / v - 1.0,
            _ => f64::INFINITY,
        };
        if larger > within {
            return self.parts(mesh);
        }
        match whole.and_then(|h| convex(&h)) {
            Some(piece) => Form { pieces: vec![piece], how: format!("hull, {} than the mesh", by(larger)) },
            None => Form::default(),
        }
    }

    fn hull(&self, mesh: &Stretched, how: &str) -> Form {
        match shape::hull(&mesh.points).and_then(|h| convex(&h)) {
            Some(piece) => Form { pieces: vec![piece], how: how.into() },
            None => Form::default(),
        }
    }

    fn parts(&self, mesh: &Stretched) -> Form {
        let pieces: Vec<Piece> =
            shape::parts(&mesh.points, &mesh.triangles).iter().filter_map(convex).collect();
        match pieces.len() {
            0 => self.hull(mesh, "hull: the mesh could not be cut into convex parts"),
            1 => Form { pieces, how: "1 convex part".into() },
            n => Form { pieces, how: format!("{n} convex parts") },
        }
    }

    fn surface(&self, mesh: Stretched) -> Form {
        let count = mesh.triangles.len();
        let size = extent(&mesh.points).max_element();
        let closed = mesh.volume.is_some();
        let geometry = match count {
            0 => None,
            _ => Geometry::triangles(mesh.points, mesh.triangles, closed),
        };
        match geometry {
            Some(geometry) => Form {
                pieces: vec![Piece { at: Placement::IDENTITY, geometry, size }],
                how: format!("the mesh, {count} triangles"),
            },
            None => Form::default(),
        }
    }
}

/// Where a part of a compound is.
pub(super) fn placed(part: &Part, place: &str) -> Result<Placement, SetupError> {
    let (position, turn) = (DVec3::from_array(part.at), DVec3::from_array(part.turn_deg));
    if !(position.is_finite() && turn.is_finite()) {
        return Err(SetupError::new(place, "\"at\" and \"turn_deg\" must be finite numbers"));
    }
    let about = |axis: DVec3, degrees: f64| rotation::exp(axis * degrees.to_radians());
    let rotation = about(DVec3::Z, turn.z) * about(DVec3::Y, turn.y) * about(DVec3::X, turn.x);
    Ok(Placement { position, rotation })
}

/// The primitive that a closed mesh is, along the node's axes or along its own.
fn primitive(mesh: &Stretched, volume: f64, obstacle: bool) -> Option<Form> {
    let own = of_mesh(&mesh.points, &mesh.triangles, 1.0)?.principal().1;
    for turn in [DQuat::IDENTITY, own] {
        let back = DMat3::from_quat(turn.conjugate());
        let points: Vec<DVec3> = match turn == DQuat::IDENTITY {
            true => mesh.points.clone(),
            false => mesh.points.iter().map(|p| back * *p).collect(),
        };
        let fits = [
            shape::fit_box(&points),
            shape::fit_sphere(&points),
            shape::fit_cylinder(&points),
            shape::fit_capsule(&points),
        ];
        let same = |p: &&Primitive| {
            let share = volume / p.volume();
            let within = if obstacle { SAME_OBSTACLE } else { SAME };
            let coarse = !obstacle && share >= COARSE && !matches!(p.kind, Kind::Box(_));
            let near = p.thinnest() * ON_SURFACE;
            (share - 1.0).abs() <= within || coarse && points.iter().all(|v| p.off_surface(*v) <= near)
        };
        // The first of these that fits: a cube of round-off is a box, a short capsule a ball.
        if let Some(p) = fits.iter().find(same) {
            let made = piece(p);
            let at = Placement { position: DVec3::ZERO, rotation: turn }.then(&made.at);
            let how = format!("{}, {} than the mesh", name(p), by(p.volume() / volume - 1.0));
            return Some(Form { pieces: vec![Piece { at, ..made }], how });
        }
    }
    None
}

/// A share in words.
fn by(larger: f64) -> String {
    let percent = larger * 100.0;
    match percent.abs() < 0.05 {
        true => "no larger".into(),
        false if percent < 0.0 => format!("{:.1} % smaller", -percent),
        false => format!("{percent:.1} % larger"),
    }
}

fn name(p: &Primitive) -> &'static str {
    match p.kind {
        Kind::Box(_) => "box",
        Kind::Sphere(_) => "ball",
        Kind::Capsule(..) => "capsule",
        Kind::Cylinder(..) => "cylinder",
        Kind::Cone(..) => "cone",
    }
}

fn piece(p: &Primitive) -> Piece {
    let (geometry, at) = Geometry::primitive(p);
    Piece { at, geometry, size: p.thinnest() }
}

fn convex(hull: &Hull) -> Option<Piece> {
    let size = hull.thinnest();
    let geometry = Geometry::hull(hull).filter(|_| size > 0.0)?;
    Some(Piece { at: Placement::IDENTITY, geometry, size })
}

fn extent(points: &[DVec3]) -> DVec3 {
    let lo = points.iter().fold(DVec3::INFINITY, |m, p| m.min(*p));
    let hi = points.iter().fold(DVec3::NEG_INFINITY, |m, p| m.max(*p));
    hi - lo
}

/// Whether all triangles face up, or all down.
fn rises(mesh: &Stretched) -> bool {
    let up = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|i| mesh.points[i as usize]);
        (b - a).cross(c - a).y
    };
    mesh.triangles.iter().all(|t| up(t) > 0.0) || mesh.triangles.iter().all(|t| up(t) < 0.0)
}

fn grid(heights: &[Vec<f64>], size: Option<[f64; 2]>, place: &str) -> Result<Form, SetupError> {
    let refuse = |field: &str, why: &str| Err(SetupError::new(format!("{place}.shape.{field}"), why));
    let columns = heights.first().map_or(0, Vec::len);
    if heights.len() < 2 || columns < 2 {
        return refuse("heights", "give two rows or more of two heights or more");
    }
    if heights.iter().any(|row| row.len() != columns) {
        return refuse("heights", "every row must have as many heights as the first");
    }
    if heights.iter().flatten().any(|h| !h.is_finite()) {
        return refuse("heights", "are not all finite numbers");
    }
    let Some(size) = size.filter(|s| s.iter().all(|e| e.is_finite() && *e > 0.0)) else {
        return refuse("size", "give the extent along x and z, both above 0");
    };
    let piece = Piece {
        at: Placement::IDENTITY,
        geometry: Geometry::height_field(heights, size),
        size: size[0].max(size[1]),
    };
    Ok(Form { pieces: vec![piece], how: format!("{} by {columns} heights", heights.len()) })
}
