//! What a character does in a clip.

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Stands, or lies, and breathes.
    Idle,
    /// Feet swing one after the other, and one always stands.
    Walk,
    /// With moments in the air.
    Run,
    /// Straight up, and down again.
    Jump,
    /// Head over heels, forward.
    Roll,
    /// A blow with the right arm, or a bite.
    Attack,
    /// Waves that run down the spine.
    Slither,
    /// Beats its wings.
    Fly,
}

impl Action {
    /// What a body on legs does.
    pub const ON_LEGS: [Action; 6] =
        [Action::Idle, Action::Walk, Action::Run, Action::Jump, Action::Roll, Action::Attack];

    /// Its name as that of a clip.
    pub fn name(self) -> &'static str {
        match self {
            Action::Idle => "Idle",
            Action::Walk => "Walk",
            Action::Run => "Run",
            Action::Jump => "Jump",
            Action::Roll => "Roll",
            Action::Attack => "Attack",
            Action::Slither => "Slither",
            Action::Fly => "Fly",
        }
    }
}

/// A clip.
#[derive(Clone, Debug, PartialEq)]
pub struct Take {
    /// Name of the clip.
    pub name: String,
    /// What is done.
    pub action: Action,
    /// How many times.
    pub turns: usize,
    /// Whether it goes along z, or on the spot.
    pub travels: bool,
    /// Whether the last frame, which would be the first again, is left out, as games do.
    pub one_short: bool,
    /// Keys on every so many frames, held in between; else on all of them, straight in between.
    pub held: Option<usize>,
}

impl Take {
    /// One of it, on the spot and closed; twice what is short.
    pub fn of(action: Action) -> Take {
        let turns = match action {
            Action::Walk | Action::Run | Action::Slither | Action::Fly => 2,
            _ => 1,
        };
        Take { name: action.name().into(), action, turns, travels: false, one_short: false, held: None }
    }
}
