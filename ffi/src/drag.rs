//! Dragging: a host's hands in a session, and how much time its joints may take.

use crate::guard::guard;
use crate::job::known_flags;
use crate::output::Out;
use crate::result::{Fault, SINEW_BAD_HANDLE, SINEW_NOT_SUPPORTED, SINEW_OUT_OF_RANGE, sinew_result};
use crate::session::{Session, change, sinew_session};
use crate::{input, options, versioned};
use glam::{DQuat, DVec3};
use sinew_core::scene::Placement;
use sinew_core::setup::{Solver, Tier};
use sinew_core::simulate::{Drag, DragError, Grip, Point};
use std::time::Duration;

/// In the flags of a grip: the hand turns the body, too.
pub const SINEW_GRIP_ORIENTATION: u32 = 1;
/// In the flags of a grip: `at` is a point in the world, not in the node's space.
pub const SINEW_GRIP_WORLD: u32 = 2;

/// How a hand holds on to a body. All zeros: firmly, at the node's origin, without turning it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_grip {
    /// `sizeof(sinew_grip)`.
    pub struct_size: u32,
    /// `SINEW_GRIP_ORIENTATION`, `SINEW_GRIP_WORLD`, added up.
    pub flags: u32,
    /// Where it holds on: scene units from the node's origin along its axes, or in the world.
    pub at: [f64; 3],
    /// The most it pulls, newtons; it twists with at most that at the body's radius. 0: whatever it takes, which can
    /// tear joints open when the hand goes where they cannot.
    pub strength: f64,
}

versioned!(sinew_grip { struct_size, flags: u32, at: [f64; 3], strength: f64 });

/// Sparse factorisation: exact.
pub const SINEW_TIER_DIRECT: i32 = 0;
/// Conjugate gradients: as good as their iterations.
pub const SINEW_TIER_ITERATIVE: i32 = 1;
/// Each joint moves its own two bodies: cheapest, and slow to agree.
pub const SINEW_TIER_PAIRWISE: i32 = 2;

/// How joints are solved. All zeros: exactly, however long it takes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sinew_solver {
    /// `sizeof(sinew_solver)`.
    pub struct_size: u32,
    /// `SINEW_TIER_...`.
    pub tier: i32,
    /// Most rounds of closing per step; 0 for as many as it takes.
    pub rounds: u32,
    /// Most iterations per round of `SINEW_TIER_ITERATIVE`; 0 for as many as it takes.
    pub iterations: u32,
    /// Most time per step, microseconds; 0 for no limit.
    pub microseconds: f64,
}

versioned!(sinew_solver { struct_size, tier: i32, rounds: u32, iterations: u32, microseconds: f64 });

/// Fills in the defaults. `struct_size` is `sizeof(sinew_grip)`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_grip_init(grip: *mut sinew_grip, struct_size: usize) -> sinew_result {
    // SAFETY: writable over `struct_size` bytes (promises of the crate).
    guard(|| unsafe { options::init(grip, struct_size) })
}

/// Fills in the defaults. `struct_size` is `sizeof(sinew_solver)`.
///
/// Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_solver_init(solver: *mut sinew_solver, struct_size: usize) -> sinew_result {
    // SAFETY: writable over `struct_size` bytes (promises of the crate).
    guard(|| unsafe { options::init(solver, struct_size) })
}

/// Takes hold of a body where it is, with a hand that stays there until it is moved; nothing jumps. `grip` may be NULL
/// for the defaults. What only turns is turned by where it is held, towards the hand. The drag's number goes to `out`; it
/// is never given out again in this session. A body may be held by several hands, and several bodies at once. The set-up
/// does not change, and seeking ends all drags.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE` (no such body, or a number that makes
/// no sense), `SINEW_NOT_SUPPORTED` (nothing could be pulled there; the text says what to do), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_drag_begin(
    session: *mut sinew_session,
    body: u32,
    grip: *const sinew_grip,
    out: *mut u64,
) -> sinew_result {
    change(session, |session| {
        // SAFETY: the promises of the crate.
        let (out, grip) = unsafe { (Out::new(out, "out")?, options::read(grip)?) };
        known_flags(grip.flags, SINEW_GRIP_ORIENTATION | SINEW_GRIP_WORLD)?;
        let at = DVec3::from(session.axes.inward(grip.at));
        let metres = session.inner.rig().world.metres_per_unit;
        let grip = Grip {
            at: if grip.flags & SINEW_GRIP_WORLD != 0 { Point::World(at) } else { Point::Node(at) },
            orientation: grip.flags & SINEW_GRIP_ORIENTATION != 0,
            strength: (grip.strength != 0.0).then_some(grip.strength / metres),
        };
        let drag = session.inner.drag_begin(body as usize, grip).map_err(refused)?;
        out.set(drag.0);
        Ok(())
    })
}

/// Says where a hand is to be: `target` is three numbers (the point that it holds on to, in the world and the host's
/// axes), or seven (that, and the node's orientation as a quaternion xyzw, for a grip with
/// `SINEW_GRIP_ORIENTATION`). The hand goes there evenly over the next frame; a turn of more than a radian takes longer.
/// Allocates nothing.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_BAD_HANDLE` (the drag has
/// ended), handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_drag_move(
    session: *mut sinew_session,
    drag: u64,
    target: *const f64,
    target_count: usize,
) -> sinew_result {
    change(session, |session| {
        // SAFETY: the promises of the crate.
        let target = unsafe { place(session, Drag(drag), target, target_count) }?;
        session.inner.drag_move(Drag(drag), target).map_err(refused)
    })
}

/// Lets go. What was dragged goes on from where it is, as it moves.
///
/// Thread: one at a time. Errors: `SINEW_BAD_HANDLE` (the drag has ended), handle errors.
#[unsafe(no_mangle)]
pub extern "C" fn sinew_session_drag_end(session: *mut sinew_session, drag: u64) -> sinew_result {
    change(session, |session| session.inner.drag_end(Drag(drag)).map_err(refused))
}

/// Drags without any motion, for hosts that pose: puts the hand at `target` (as for `sinew_session_drag_move`) at once
/// and pulls the pose after it as far as joints let it, in about `microseconds` at most. Time stands still, and all
/// bodies are at rest afterwards. How far the hand farthest off is from what it holds goes to `out_distance`, scene
/// units, which may be NULL: out of reach, or out of time; then calling again goes on.
///
/// Thread: one at a time. Errors: those of `sinew_session_drag_move`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_drag_pose(
    session: *mut sinew_session,
    drag: u64,
    target: *const f64,
    target_count: usize,
    microseconds: f64,
    out_distance: *mut f64,
) -> sinew_result {
    change(session, |session| {
        // SAFETY: the promises of the crate.
        let (out, target) = unsafe {
            (Out::maybe(out_distance, "out_distance")?, place(session, Drag(drag), target, target_count)?)
        };
        if !(microseconds > 0.0 && microseconds <= 1e9) {
            let text = format!("microseconds is {microseconds}; it must be above 0 and at most 1e9");
            return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
        }
        let budget = Duration::from_secs_f64(microseconds * 1e-6);
        let pulled = session.inner.pose_drag(Drag(drag), target, budget).map_err(refused)?;
        out.set(pulled.from_hands.0);
        Ok(())
    })
}

/// Changes how joints are solved, from now on: steps go on from where bodies are. NULL for the defaults. A step that
/// meets a limit leaves its joints as they are. Seeking afterwards simulates from the first frame with it; with
/// `microseconds` that is not the same every time.
///
/// Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinew_session_set_solver(
    session: *mut sinew_session,
    solver: *const sinew_solver,
) -> sinew_result {
    change(session, |session| {
        // SAFETY: the promises of the crate.
        let solver = unsafe { options::read(solver) }?;
        let tier = match solver.tier {
            SINEW_TIER_DIRECT => Tier::Direct,
            SINEW_TIER_ITERATIVE => Tier::Iterative,
            SINEW_TIER_PAIRWISE => Tier::Pairwise,
            other => {
                let text = format!("tier is {other}, which this library does not know; see SINEW_TIER_...");
                return Err(Fault::new(SINEW_OUT_OF_RANGE, text));
            }
        };
        let some = |count: u32| (count > 0).then_some(count as usize);
        let solver = Solver {
            tier,
            rounds: some(solver.rounds),
            iterations: some(solver.iterations),
            microseconds: (solver.microseconds != 0.0).then_some(solver.microseconds),
            ..Solver::default()
        };
        session.inner.set_solver(&solver).map_err(|e| Fault::new(SINEW_OUT_OF_RANGE, e.to_string()))
    })
}

/// A target of a hand, from the host's axes; without an orientation the hand keeps its own.
///
/// # Safety
/// The promises of the crate for arrays.
unsafe fn place(
    session: &Session,
    drag: Drag,
    target: *const f64,
    target_count: usize,
) -> Result<Placement, Fault> {
    // SAFETY: the same promises.
    let numbers = unsafe { input::array(target, target_count, "target") }?;
    let hand = session.inner.drag_hand(drag).map_err(refused)?;
    let inward = |x, y, z| session.axes.inward([x, y, z]);
    match *numbers {
        [x, y, z] => Ok(Placement { position: inward(x, y, z).into(), ..hand }),
        [x, y, z, i, j, k, w] => {
            let [i, j, k] = inward(i, j, k);
            Ok(Placement { position: inward(x, y, z).into(), rotation: DQuat::from_xyzw(i, j, k, w) })
        }
        _ => Err(Fault::argument(format!(
            "target has {target_count} numbers; pass 3 (position) or 7 (position and quaternion xyzw)"
        ))),
    }
}

fn refused(error: DragError) -> Fault {
    let code = match error {
        DragError::NoBody { .. } | DragError::Number { .. } => SINEW_OUT_OF_RANGE,
        DragError::Pivot { .. } | DragError::Unturned { .. } | DragError::Stopped { .. } => {
            SINEW_NOT_SUPPORTED
        }
        DragError::Ended(_) => SINEW_BAD_HANDLE,
    };
    Fault::new(code, error.to_string())
}
