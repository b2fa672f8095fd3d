//! How a body is built.

/// What feet hang on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feet {
    /// The lower leg.
    OnShin,
    /// The root bone, and keys have them follow the lower leg.
    OnRoot,
    /// Nothing: each is a root of its own, and keys have it follow.
    Loose,
}

/// How bones are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// `LeftUpLeg`, as Mixamo does.
    Prefixed,
    /// `upleg.L`, as Blender does.
    Suffixed,
    /// `bone_12`: names tell nothing.
    Numbered,
}

/// The proportions and parts of a body. Lengths in metres.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Whether the trunk goes up from the hips, or along z.
    pub upright: bool,
    /// From hip to ankle.
    pub leg: f64,
    /// From hips to the top of the chest.
    pub trunk: f64,
    /// How thick it is beside a slender one.
    pub stout: f64,
    /// Bones of the trunk besides the hips; at least 1.
    pub spine: usize,
    /// Pairs of legs. With arms or wings the foremost are not legs.
    pub leg_pairs: usize,
    /// Whether it has arms. Only of upright ones.
    pub arms: bool,
    /// Whether it has wings.
    pub wings: bool,
    /// Fingers of each hand, of two bones.
    pub fingers: usize,
    /// Bones of the neck.
    pub neck: usize,
    /// Whether it has a head.
    pub head: bool,
    /// Whether it has ears.
    pub ears: bool,
    /// Bones of the tail.
    pub tail: usize,
    /// Whether the right hand, or else the head, holds a thing.
    pub prop: bool,
    /// What feet hang on.
    pub feet: Feet,
    /// Whether a bone with a five-hundredth of the mass leads it.
    pub tiny_lead: bool,
    /// Whether a bone of the spine and the lower arms get longer and shorter.
    pub stretches: bool,
    /// How far above the floor it is, beyond standing on it.
    pub aloft: f64,
    /// How bones are called.
    pub naming: Naming,
}

impl Plan {
    /// One metre and seventy, on two legs.
    pub fn biped() -> Plan {
        Plan {
            upright: true,
            leg: 0.84,
            trunk: 0.5,
            stout: 1.0,
            spine: 2,
            leg_pairs: 1,
            arms: true,
            wings: false,
            fingers: 0,
            neck: 1,
            head: true,
            ears: false,
            tail: 0,
            prop: false,
            feet: Feet::OnShin,
            tiny_lead: false,
            stretches: false,
            aloft: 0.0,
            naming: Naming::Prefixed,
        }
    }

    /// Half a metre high, on four.
    pub fn quadruped() -> Plan {
        Plan {
            upright: false,
            leg: 0.4,
            trunk: 0.55,
            spine: 2,
            leg_pairs: 2,
            arms: false,
            tail: 3,
            ..Plan::biped()
        }
    }

    /// As games draw them: short legs, a big head, led by next to nothing.
    pub fn knight() -> Plan {
        Plan {
            leg: 0.5,
            trunk: 0.45,
            stout: 1.5,
            prop: true,
            feet: Feet::OnRoot,
            tiny_lead: true,
            naming: Naming::Suffixed,
            ..Plan::biped()
        }
    }

    /// Two metres on the floor.
    pub fn snake() -> Plan {
        Plan { trunk: 2.0, spine: 11, leg_pairs: 0, tail: 0, neck: 0, stout: 0.5, ..Plan::quadruped() }
    }

    /// A metre and a half from tip to tip.
    pub fn bird() -> Plan {
        Plan {
            leg: 0.16,
            trunk: 0.3,
            spine: 1,
            leg_pairs: 1,
            wings: true,
            tail: 1,
            aloft: 1.0,
            stout: 0.7,
            ..Plan::quadruped()
        }
    }
}
