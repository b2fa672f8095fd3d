//! What people call bones: sides, limbs, and the helpers that move no flesh. Mixamo (`mixamorig:LeftForeArm`), Rigify
//! (`forearm.L`, `DEF-spine.003`), glTF samples (`b_LeftForeArm_010`, `arm_joint_L_2`), and plain English.

/// A bone's name, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    words: Vec<String>,
}

/// Left or right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Side {
    Left,
    Right,
}

/// Front or hind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum End {
    Front,
    Hind,
}

/// What a bone is for, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Part {
    Spine,
    Head,
    Arm,
    Leg,
    /// Hand, foot, paw.
    End,
    /// Hangs and follows: tail, ear, hair, strap.
    Loose,
    /// Finger or toe.
    Digit,
    /// Shares the turn of its parent.
    Twist,
    /// Targets, poles, controls.
    Helper,
    /// What is held in a hand or put on.
    Prop,
}

/// Which piece of an arm or leg a bone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Segment {
    UpperArm,
    ForeArm,
    Thigh,
    Shin,
}

const SEGMENTS: [(Segment, &[&str]); 4] = [
    (Segment::ForeArm, &["forearm", "lowerarm", "lowarm", "elbow"]),
    (Segment::Thigh, &["upleg", "upperleg", "thigh"]),
    (Segment::Shin, &["lowerleg", "lowleg", "shin", "calf", "knee", "leg"]),
    (Segment::UpperArm, &["upperarm", "arm"]),
];

const PARTS: [(Part, &[&str]); 10] = [
    (Part::Helper, &["ik", "pole", "target", "ctrl", "control", "mch", "org", "effector", "camera"]),
    (Part::Prop, &["socket", "slot", "attach", "prop", "weapon", "item", "holder"]),
    (Part::Twist, &["twist", "roll"]),
    (
        Part::Digit,
        &[
            "finger",
            "thumb",
            "index",
            "middle",
            "ring",
            "pinky",
            "pinkie",
            "toe",
            "toes",
            "palm",
            "metacarpal",
        ],
    ),
    (
        Part::Loose,
        &[
            "tail", "ear", "ears", "hair", "strap", "antenna", "feeler", "braid", "pony", "ponytail", "cape",
            "cloak", "skirt", "scarf", "tentacle", "feather", "whisker", "tongue", "ribbon", "rope", "chain",
            "tassel", "beard", "fin",
        ],
    ),
    (Part::Head, &["head", "neck", "skull", "jaw", "face"]),
    (Part::End, &["hand", "wrist", "foot", "feet", "ankle", "paw", "hoof"]),
    (
        Part::Arm,
        &[
            "arm", "forearm", "upperarm", "lowerarm", "uparm", "lowarm", "elbow", "shoulder", "clavicle",
            "collar", "wing",
        ],
    ),
    (
        Part::Leg,
        &["leg", "upleg", "upperleg", "lowerleg", "lowleg", "thigh", "shin", "calf", "knee", "haunch"],
    ),
    (
        Part::Spine,
        &[
            "hip", "hips", "pelvis", "spine", "chest", "torso", "abdomen", "waist", "belly", "body", "ribs",
            "back",
        ],
    ),
];

impl Name {
    /// Takes a name apart at capitals, digits and signs.
    pub(super) fn new(name: &str) -> Name {
        let name = name.rsplit(':').next().unwrap_or(name);
        let mut words: Vec<String> = Vec::new();
        let mut before = ' ';
        let mut letters = name.chars().peekable();
        while let Some(c) = letters.next() {
            // "IKBackLeg" has an acronym before its next word.
            let ends_acronym = before.is_uppercase() && letters.peek().is_some_and(|n| n.is_lowercase());
            let begins =
                !before.is_alphabetic() || c.is_uppercase() && (before.is_lowercase() || ends_acronym);
            if c.is_alphabetic() {
                match words.last_mut().filter(|_| !begins) {
                    Some(word) => word.extend(c.to_lowercase()),
                    None => words.push(c.to_lowercase().collect()),
                }
            }
            before = c;
        }
        // "ForeArm" and "UpperArm" are one word to most people.
        let mut joined: Vec<String> = Vec::new();
        for word in words {
            match joined.last_mut() {
                Some(last) if ["fore", "upper", "lower", "low", "up", "pony"].contains(&last.as_str()) => {
                    last.push_str(&word)
                }
                _ => joined.push(word),
            }
        }
        Name { words: joined }
    }

    pub(super) fn side(&self) -> Option<Side> {
        self.words.iter().find_map(|w| side_of(w))
    }

    /// The same name without its side: what the two of a pair share. Numbers are left out, since some number all bones.
    pub(super) fn without_side(&self) -> Vec<&str> {
        self.words.iter().filter(|w| side_of(w).is_none()).map(String::as_str).collect()
    }

    /// Which piece of an arm or leg it is, by the whole of its name: "Leg" beside "UpLeg" is a shin, "Arm" beside "ForeArm" the
    /// upper arm.
    pub(super) fn segment(&self) -> Option<Segment> {
        let words = self.without_side();
        let own = words.iter().filter(|w| !["b", "def", "bone", "mixamorig"].contains(w));
        let [word] = own.collect::<Vec<_>>()[..] else { return None };
        SEGMENTS.iter().find(|(_, words)| words.contains(word)).map(|(segment, _)| *segment)
    }

    /// Whether one of its words is among these.
    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.words.iter().any(|w| words.contains(&w.as_str()))
    }

    /// Whether it is of a front leg, or of a hind leg, as animals have them.
    pub(super) fn end(&self) -> Option<End> {
        let is = |words: &[&str]| self.has(words);
        match (is(&["front", "fore", "fwd"]), is(&["back", "hind", "rear"])) {
            (true, false) => Some(End::Front),
            (false, true) => Some(End::Hind),
            _ => None,
        }
    }

    pub(super) fn part(&self) -> Option<Part> {
        let is = |words: &[&str]| self.words.iter().any(|w| words.contains(&w.as_str()));
        PARTS.iter().find(|(_, words)| is(words)).map(|(part, _)| *part)
    }
}

fn side_of(word: &str) -> Option<Side> {
    match word {
        "l" | "left" | "lt" => Some(Side::Left),
        "r" | "right" | "rt" => Some(Side::Right),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_schools_are_known() {
        let cases = [
            ("mixamorig:LeftForeArm", Some(Side::Left), Some(Part::Arm)),
            ("mixamorig:RightHandIndex1", Some(Side::Right), Some(Part::Digit)),
            ("forearm.L", Some(Side::Left), Some(Part::Arm)),
            ("DEF-spine.003", None, Some(Part::Spine)),
            ("DEF-upper_arm.R.001", Some(Side::Right), Some(Part::Arm)),
            ("b_LeftLeg01_015", Some(Side::Left), Some(Part::Leg)),
            ("b_Tail02_013", None, Some(Part::Loose)),
            ("leg_joint_R_2", Some(Side::Right), Some(Part::Leg)),
            ("PoleTarget.L", Some(Side::Left), Some(Part::Helper)),
            ("forearm_twist_r", Some(Side::Right), Some(Part::Twist)),
            ("LowerArm.L", Some(Side::Left), Some(Part::Arm)),
            ("IKBackLeg.L", Some(Side::Left), Some(Part::Helper)),
            ("Bone", None, None),
            ("", None, None),
        ];
        for (name, side, part) in cases {
            let read = Name::new(name);
            assert_eq!((read.side(), read.part()), (side, part), "{name}");
        }
        assert_eq!(Name::new("b_LeftHand_011").without_side(), Name::new("b_RightHand_08").without_side());
    }
}
