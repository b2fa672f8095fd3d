/* The C interface of Sinew, a physics plugin for animation tools.
 *
 * Made from the sources of libsinew by ffi/check-abi --bless: do not edit.
 *
 * Results   Functions that can fail return sinew_result; 0 is success. sinew_last_error then has the reason and
 *           the remedy, per thread. Outputs are written only on success. Handle errors, which every function with a
 *           handle may return: SINEW_INVALID_ARGUMENT (NULL), SINEW_BAD_HANDLE, SINEW_BUSY, SINEW_POISONED; and any
 *           function may return SINEW_PANICKED.
 * Handles   Opaque, and looked up on every call: a freed or foreign one is refused. The caller frees what it was
 *           given; freeing NULL is fine. Different handles are independent of each other. Functions with a const
 *           handle may run on several threads at once; the others need the handle for themselves, and return
 *           SINEW_BUSY otherwise.
 * Texts in  UTF-8 with a length in bytes; SINEW_NUL_TERMINATED as the length means up to the zero byte. NULL with
 *           length 0 is the empty text.
 * Texts out With capacity 0 only the length (without the zero byte) is told; else the text and a zero byte are
 *           copied, or SINEW_TOO_SMALL is returned. length may be NULL when there is a buffer.
 * Structs   Begin with struct_size, sizeof of the struct as the host knows it. Zero is the default of every field,
 *           so `sinew_job_options o = {.struct_size = sizeof o};` does what sinew_job_options_init does.
 * Units     Seconds, scene units, kilograms, newtons, quaternions xyzw, right-handed; Y up unless the scene's
 *           options say otherwise.
 * Places in a set-up
 *           What stands in a set-up file, from the outside in, between slashes: "world/gravity_scale",
 *           "bodies/Ball/actuator/alpha". Bodies are found by their node, groups by their name, anything in a list
 *           by its number. A slash inside a name is written ~1, a tilde ~0.
 */

#ifndef SINEW_H
#define SINEW_H

#pragma once

#include <stddef.h>
#include <stdint.h>
/** As the length of a text: it ends in a zero byte. */
#define SINEW_NUL_TERMINATED SIZE_MAX


/**
 * The version of this interface that the header describes: major in the upper 16 bits, minor in the lower.
 */
#define SINEW_ABI_VERSION 65543

/**
 * Reading files.
 */
#define SINEW_STAGE_OPEN 0

/**
 * Making the rig.
 */
#define SINEW_STAGE_COMPILE 1

/**
 * Frame by frame.
 */
#define SINEW_STAGE_SIMULATE 2

/**
 * Fitting keys.
 */
#define SINEW_STAGE_BAKE 3

/**
 * Writing files.
 */
#define SINEW_STAGE_SAVE 4

/**
 * Worth knowing.
 */
#define SINEW_LOG_INFO 0

/**
 * The result may not be what was meant.
 */
#define SINEW_LOG_WARNING 1

/**
 * Y is up, as in glTF. The default.
 */
#define SINEW_UP_Y 0

/**
 * Z is up, as in Blender.
 */
#define SINEW_UP_Z 1

/**
 * Three numbers per key, scene units.
 */
#define SINEW_TRANSLATION 0

/**
 * Unit quaternion xyzw.
 */
#define SINEW_ROTATION 1

/**
 * Three factors.
 */
#define SINEW_SCALE 2

/**
 * One weight per morph target. Carried, not simulated.
 */
#define SINEW_WEIGHTS 3

/**
 * Each key holds until the next.
 */
#define SINEW_STEP 0

/**
 * Straight; rotations take the short way round.
 */
#define SINEW_LINEAR 1

/**
 * Cubic Hermite with tangents per second, as glTF's CUBICSPLINE.
 */
#define SINEW_CUBIC 2

/**
 * In glTF, as `KHR_physics_rigid_bodies` with `KHR_implicit_shapes`.
 */
#define SINEW_PHYSICS_KHR 0

/**
 * In glTF, as `OMI_physics_body`, `OMI_physics_shape`, `OMI_physics_joint` and `OMI_physics_gravity`.
 */
#define SINEW_PHYSICS_OMI 1

/**
 * No node, no parent.
 */
#define SINEW_NONE UINT32_MAX

/**
 * Everything is as asked.
 */
#define SINEW_STATUS_DONE 0

/**
 * There is a result, but something that the report's warnings name fell short.
 */
#define SINEW_STATUS_FELL_SHORT 1

/**
 * As the set-up says.
 */
#define SINEW_PRESET_NONE 0

/**
 * Stays on the keys and takes off the corners.
 */
#define SINEW_PRESET_SUBTLE 1

/**
 * Follows with weight and gives way when pushed.
 */
#define SINEW_PRESET_REACTIVE 2

/**
 * Barely holds itself up, swings past.
 */
#define SINEW_PRESET_LIMP 3

/**
 * No strength at all: it falls as its joints let it.
 */
#define SINEW_PRESET_RAGDOLL 4

/**
 * Follows with more weight than reactive: drags, overshoots and settles.
 */
#define SINEW_PRESET_WEIGHTY 5

/**
 * Relaxed, between weighty and limp: swings freely and comes back late.
 */
#define SINEW_PRESET_LOOSE 6

/**
 * Keys on every frame instead of few.
 */
#define SINEW_EVERY_FRAME 1

/**
 * `first_frame` and `last_frame` count.
 */
#define SINEW_FRAMES 2

/**
 * The host stores curves in single precision: keys are chosen so that the tolerance holds after rounding. Always
 * so for scenes from files.
 */
#define SINEW_SINGLE 4

/**
 * The range is one turn of a cycle: it is simulated until it repeats, and its end meets its start in pose and velocity.
 */
#define SINEW_LOOP 128

/**
 * `hold_frame` counts.
 */
#define SINEW_HOLD 256

/**
 * `looseness` says how loose everything is.
 */
#define SINEW_LOOSENESS 8192

/**
 * As the set-up says.
 */
#define SINEW_LAYER_NONE 0

/**
 * The whole motion.
 */
#define SINEW_LAYER_FULL 1

/**
 * What the motion adds to the keys: translations to be added, rotations to be multiplied from the right.
 */
#define SINEW_LAYER_ADDITIVE 2

/**
 * Both, as two clips. A job's curves are then those of the whole motion; `sinew_scene_add_job` adds both clips.
 */
#define SINEW_LAYER_BOTH 3

/**
 * Put the new clip in the place of the one of its name, or of the guiding one.
 */
#define SINEW_REPLACE 8

/**
 * Allow the output to be the scene's own file.
 */
#define SINEW_IN_PLACE 16

/**
 * Make the set-up from the keys, even if `NAME.sinew.json` lies beside the scene.
 */
#define SINEW_AUTOMATIC 32

/**
 * Simulate a second time with the other kind of substeps, and report how far apart the two are.
 */
#define SINEW_COMPARE_STEPS 64

/**
 * USD: write everything into one layer, instead of a new layer over the scene.
 */
#define SINEW_FLATTEN 1024

/**
 * USD: composed and written by the studio's own OpenUSD, whose bridge the environment's `SINEW_OPENUSD_BRIDGE` names,
 * instead of by Sinew itself. Where it is not there, Sinew does it, with a warning.
 */
#define SINEW_OPENUSD 2048

/**
 * USD: write few keys as splines, instead of a sample at every frame.
 */
#define SINEW_SPLINES 4096

/**
 * Share of the distance to the target that one relaxation time makes up.
 */
#define SINEW_SETTING_ALPHA 0

/**
 * Damping B: 1 is critical.
 */
#define SINEW_SETTING_DAMPING 1

/**
 * Seconds.
 */
#define SINEW_SETTING_RELAXATION_TIME 2

/**
 * Newtons; infinity for no limit.
 */
#define SINEW_SETTING_MAX_FORCE 3

/**
 * Newton metres; infinity for no limit.
 */
#define SINEW_SETTING_MAX_TORQUE 4

/**
 * How quickly a lasting push is made up for, 1/s.
 */
#define SINEW_SETTING_COMPENSATION 5

/**
 * Share of the target's velocity that is matched, 0 to 1.
 */
#define SINEW_SETTING_KEEP_UP 6

/**
 * 0 is the keys, 1 is physics.
 */
#define SINEW_SETTING_BLEND 7

/**
 * Farthest distance of the target, scene units.
 */
#define SINEW_SETTING_BASE_DISTANCE 8

/**
 * Farthest angle of the target, degrees.
 */
#define SINEW_SETTING_BASE_ANGLE 9

/**
 * Share of what the keys' own accelerations need that is pulled as they come, 0 to 1.
 */
#define SINEW_SETTING_ANTICIPATION 10

/**
 * In the flags of `sinew_session_targets`: something guides the position.
 */
#define SINEW_TARGET_POSITION 1

/**
 * In the flags of `sinew_session_targets`: something guides the orientation.
 */
#define SINEW_TARGET_ORIENTATION 2

/**
 * In the flags of a grip: the hand turns the body, too.
 */
#define SINEW_GRIP_ORIENTATION 1

/**
 * In the flags of a grip: `at` is a point in the world, not in the node's space.
 */
#define SINEW_GRIP_WORLD 2

/**
 * Sparse factorisation: exact.
 */
#define SINEW_TIER_DIRECT 0

/**
 * Conjugate gradients: as good as their iterations.
 */
#define SINEW_TIER_ITERATIVE 1

/**
 * Each joint moves its own two bodies: cheapest, and slow to agree.
 */
#define SINEW_TIER_PAIRWISE 2

/**
 * A finished job. Never changes: all functions may run on several threads at once.
 */
typedef struct sinew_job sinew_job;

/**
 * What a bake from file to file did. Never changes: all functions may run on several threads at once.
 */
typedef struct sinew_report sinew_report;

/**
 * Nodes, meshes and clips, from a file or from the host. Functions that take it as `const` may run on several
 * threads at once; the others need it for themselves.
 */
typedef struct sinew_scene sinew_scene;

/**
 * A live simulation. Functions that take it as `const` may run on several threads at once; the others need it for
 * themselves. Different sessions are independent.
 */
typedef struct sinew_session sinew_session;

/**
 * The animator's physics: what is simulated, how it is guided, how strong. Functions that take it as `const` may
 * run on several threads at once; the others need it for themselves.
 */
typedef struct sinew_setup sinew_setup;

/**
 * How a call went. 0 is success, everything else an error that `sinew_last_error` puts into words. Numbers are
 * never given a new meaning; new ones may be added.
 */
typedef int32_t sinew_result;

/**
 * What a host sees and says of a call that runs on another thread of its, without being called back: for hosts whose
 * callbacks would have to wait, as those in Python wait for its lock. All numbers may be read and written at any time
 * while the call runs.
 */
typedef struct sinew_watch {
  /**
   * `sizeof(sinew_watch)`.
   */
  uint32_t struct_size;
  /**
   * The host writes anything but 0 to cancel.
   */
  uint32_t cancel;
  /**
   * One of `SINEW_STAGE_...`, as of the last step.
   */
  int32_t stage;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * Frames done.
   */
  uint64_t done;
  /**
   * Frames in all.
   */
  uint64_t of;
} sinew_watch;

/**
 * How far a job is: `done` of `of` in a stage.
 */
typedef struct sinew_progress {
  /**
   * Bytes of this struct.
   */
  uint32_t struct_size;
  /**
   * One of `SINEW_STAGE_...`; later libraries may have more.
   */
  int32_t stage;
  /**
   * Frames done; 0 or 1 in stages other than simulating.
   */
  uint64_t done;
  /**
   * Frames in all; 1 in stages other than simulating.
   */
  uint64_t of;
} sinew_progress;

/**
 * Called at every stage and frame. Return 0 to go on, anything else to cancel. `progress` lives until it returns.
 * It may call into the library, but not change a handle that the running call uses (`SINEW_BUSY`).
 */
typedef int32_t (*sinew_progress_fn)(void *user, const struct sinew_progress *progress);

/**
 * Called with a line of UTF-8 text, `length` bytes and a zero byte, which lives until it returns.
 */
typedef void (*sinew_log_fn)(void *user, int32_t level, const char *text, size_t length);

/**
 * What a long call tells the host. All zeros (or NULL in its place) for nothing.
 */
typedef struct sinew_callbacks {
  /**
   * `sizeof(sinew_callbacks)`.
   */
  uint32_t struct_size;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * How far it is, and whether to go on. May be NULL.
   */
  sinew_progress_fn progress;
  /**
   * Warnings. May be NULL.
   */
  sinew_log_fn log;
  /**
   * Passed to both as it is.
   */
  void *user;
} sinew_callbacks;

/**
 * How to open a file. All zeros for the defaults.
 */
typedef struct sinew_open_options {
  /**
   * `sizeof(sinew_open_options)`.
   */
  uint32_t struct_size;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * A folder that buffers, images and layers may come from besides the scene's own. NULL for none.
   */
  const char *asset_root;
  /**
   * Bytes of `asset_root`.
   */
  size_t asset_root_length;
  /**
   * `SINEW_OPENUSD`, or 0.
   */
  uint32_t flags;
  /**
   * 0.
   */
  uint32_t reserved_2;
} sinew_open_options;

/**
 * How the host sees the world. All zeros for the defaults.
 */
typedef struct sinew_scene_options {
  /**
   * `sizeof(sinew_scene_options)`.
   */
  uint32_t struct_size;
  /**
   * `SINEW_UP_Y` or `SINEW_UP_Z`. Positions, rotations and scales, in and out, are in these axes. Vectors inside
   * a set-up are always Y up, since a set-up serves every host.
   */
  int32_t up_axis;
  /**
   * Metres per unit of length, for automatic set-ups. 0: guessed from the size of the meshes.
   */
  double metres_per_unit;
  /**
   * Frames per second that the host plays at. 0: guessed from the spacing of the keys.
   */
  double frames_per_second;
} sinew_scene_options;

/**
 * A curve that the host gives.
 */
typedef struct sinew_curve {
  /**
   * `sizeof(sinew_curve)`.
   */
  uint32_t struct_size;
  /**
   * The node, by index.
   */
  uint32_t node;
  /**
   * `SINEW_TRANSLATION`, `SINEW_ROTATION`, `SINEW_SCALE` or `SINEW_WEIGHTS`.
   */
  int32_t property;
  /**
   * `SINEW_STEP`, `SINEW_LINEAR` or `SINEW_CUBIC`.
   */
  int32_t interpolation;
  /**
   * Numbers per key. 0: as the property has; weights need it.
   */
  uint32_t width;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * Keys, at least one.
   */
  size_t key_count;
  /**
   * Key times in seconds, strictly increasing.
   */
  const double *times;
  /**
   * `width` numbers per key.
   */
  const double *values;
  /**
   * Cubic only: `width` numbers per key, the derivative on the earlier side, per second.
   */
  const double *arriving;
  /**
   * Cubic only: `width` numbers per key, the derivative on the later side, per second.
   */
  const double *leaving;
} sinew_curve;

/**
 * What a curve has, without its keys. Set `struct_size` before asking.
 */
typedef struct sinew_curve_info {
  /**
   * `sizeof(sinew_curve_info)`.
   */
  uint32_t struct_size;
  /**
   * The node, by index.
   */
  uint32_t node;
  /**
   * `SINEW_TRANSLATION`, `SINEW_ROTATION`, `SINEW_SCALE` or `SINEW_WEIGHTS`.
   */
  int32_t property;
  /**
   * `SINEW_STEP`, `SINEW_LINEAR` or `SINEW_CUBIC`.
   */
  int32_t interpolation;
  /**
   * Numbers per key.
   */
  uint32_t width;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * Keys.
   */
  size_t key_count;
} sinew_curve_info;

/**
 * What a job is to do. All zeros for what the set-up says.
 */
typedef struct sinew_job_options {
  /**
   * `sizeof(sinew_job_options)`.
   */
  uint32_t struct_size;
  /**
   * `SINEW_EVERY_FRAME`, `SINEW_FRAMES`, `SINEW_SINGLE`, `SINEW_LOOP`, `SINEW_HOLD`, `SINEW_LOOSENESS`, added up.
   */
  uint32_t flags;
  /**
   * `SINEW_PRESET_...` for every actuator.
   */
  int32_t preset;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * First frame, when `flags` has `SINEW_FRAMES`. Frame 0 is time 0.
   */
  double first_frame;
  /**
   * Last frame, likewise.
   */
  double last_frame;
  /**
   * Largest distance of the keys from the simulation, scene units; 0 as the set-up says.
   */
  double tolerance;
  /**
   * The guiding clip, by name or `#index`. NULL as the set-up says.
   */
  const char *clip;
  /**
   * Bytes of `clip`.
   */
  size_t clip_length;
  /**
   * Name for the new clip. NULL as the set-up says.
   */
  const char *name;
  /**
   * Bytes of `name`.
   */
  size_t name_length;
  /**
   * The largest angle of the keys from the simulation, degrees; 0 as the set-up says.
   */
  double tolerance_deg;
  /**
   * Frame from which on all stays as it is, when `flags` has `SINEW_HOLD`.
   */
  double hold_frame;
  /**
   * Frames that every pose is held; 0 as the set-up says.
   */
  uint32_t every;
  /**
   * `SINEW_LAYER_...`.
   */
  int32_t layer;
  /**
   * Nodes and groups that get new curves, one per line, `*` for any letters. NULL as the set-up says.
   */
  const char *only;
  /**
   * Bytes of `only`.
   */
  size_t only_length;
  /**
   * How loose everything is, from 0, the keys, to 1, a ragdoll, when `flags` has `SINEW_LOOSENESS`.
   */
  double looseness;
} sinew_job_options;

/**
 * What to bake, and how. All zeros but `struct_size` and `scene` bakes like `sinew bake SCENE`.
 */
typedef struct sinew_bake_request {
  /**
   * `sizeof(sinew_bake_request)`.
   */
  uint32_t struct_size;
  /**
   * `SINEW_EVERY_FRAME`, `SINEW_FRAMES`, `SINEW_REPLACE`, `SINEW_IN_PLACE`, `SINEW_AUTOMATIC`,
   * `SINEW_COMPARE_STEPS`, `SINEW_LOOP`, `SINEW_HOLD`, `SINEW_FLATTEN`, `SINEW_OPENUSD`, `SINEW_SPLINES`,
   * `SINEW_LOOSENESS`, added up.
   */
  uint32_t flags;
  /**
   * `SINEW_PRESET_...` for every actuator.
   */
  int32_t preset;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * First frame, when `flags` has `SINEW_FRAMES`. Frame 0 is time 0.
   */
  double first_frame;
  /**
   * Last frame, likewise.
   */
  double last_frame;
  /**
   * Largest distance of the keys from the simulation, scene units; 0 as the set-up says.
   */
  double tolerance;
  /**
   * The scene's file.
   */
  const char *scene;
  /**
   * Bytes of `scene`.
   */
  size_t scene_length;
  /**
   * Where the result goes. NULL: beside the scene, as `NAME.sinew.glb`, or for USD as the layer `NAME.sinew.usda`.
   */
  const char *output;
  /**
   * Bytes of `output`.
   */
  size_t output_length;
  /**
   * The set-up file. NULL: `NAME.sinew.json` beside the scene if it is there, else the
   * physics in the scene, else automatic.
   */
  const char *setup;
  /**
   * Bytes of `setup`.
   */
  size_t setup_length;
  /**
   * The guiding clip, by name or `#index`. NULL as the set-up says.
   */
  const char *clip;
  /**
   * Bytes of `clip`.
   */
  size_t clip_length;
  /**
   * Name for the new clip. NULL as the set-up says.
   */
  const char *name;
  /**
   * Bytes of `name`.
   */
  size_t name_length;
  /**
   * A folder that buffers and images may come from besides the scene's own. NULL for none.
   */
  const char *asset_root;
  /**
   * Bytes of `asset_root`.
   */
  size_t asset_root_length;
  /**
   * Where a picture of the bake goes, as SVG. NULL for nowhere.
   */
  const char *plot;
  /**
   * Bytes of `plot`.
   */
  size_t plot_length;
  /**
   * Where every point of contact goes, frame by frame, as JSON. NULL for nowhere.
   */
  const char *contacts;
  /**
   * Bytes of `contacts`.
   */
  size_t contacts_length;
  /**
   * The largest angle of the keys from the simulation, degrees; 0 as the set-up says.
   */
  double tolerance_deg;
  /**
   * Frame from which on all stays as it is, when `flags` has `SINEW_HOLD`.
   */
  double hold_frame;
  /**
   * Frames that every pose is held; 0 as the set-up says.
   */
  uint32_t every;
  /**
   * `SINEW_LAYER_...`.
   */
  int32_t layer;
  /**
   * Nodes and groups that get new curves, one per line, `*` for any letters. NULL as the set-up says.
   */
  const char *only;
  /**
   * Bytes of `only`.
   */
  size_t only_length;
  /**
   * What each figure weighs, without what it holds, kg; 0 for what it is taken for. For a set-up made from the keys.
   */
  double mass;
  /**
   * How tall the tallest figure is, m; 0 for what it is taken for. Likewise.
   */
  double height;
  /**
   * How loose everything is, from 0, the keys, to 1, a ragdoll, when `flags` has `SINEW_LOOSENESS`.
   */
  double looseness;
} sinew_bake_request;

/**
 * How a hand holds on to a body. All zeros: firmly, at the node's origin, without turning it.
 */
typedef struct sinew_grip {
  /**
   * `sizeof(sinew_grip)`.
   */
  uint32_t struct_size;
  /**
   * `SINEW_GRIP_ORIENTATION`, `SINEW_GRIP_WORLD`, added up.
   */
  uint32_t flags;
  /**
   * Where it holds on: scene units from the node's origin along its axes, or in the world.
   */
  double at[3];
  /**
   * The most it pulls, newtons; it twists with at most that at the body's radius. 0: whatever it takes, which can
   * tear joints open when the hand goes where they cannot.
   */
  double strength;
} sinew_grip;

/**
 * How joints are solved. All zeros: exactly, however long it takes.
 */
typedef struct sinew_solver {
  /**
   * `sizeof(sinew_solver)`.
   */
  uint32_t struct_size;
  /**
   * `SINEW_TIER_...`.
   */
  int32_t tier;
  /**
   * Most rounds of closing per step; 0 for as many as it takes.
   */
  uint32_t rounds;
  /**
   * Most iterations per round of `SINEW_TIER_ITERATIVE`; 0 for as many as it takes.
   */
  uint32_t iterations;
  /**
   * Most time per step, microseconds; 0 for no limit.
   */
  double microseconds;
} sinew_solver;

/**
 * A point at which one thing bears on another. Of several shapes on one node each has points of its own.
 */
typedef struct sinew_contact {
  /**
   * `sizeof(sinew_contact)`.
   */
  uint32_t struct_size;
  /**
   * One node, by index; of the same two nodes always the same one.
   */
  uint32_t node_a;
  /**
   * The other.
   */
  uint32_t node_b;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * Where, in the world and the host's axes, scene units.
   */
  double point[3];
  /**
   * Direction from the first to the second.
   */
  double normal[3];
  /**
   * Force along the normal, newtons: the mean of the last sub-step.
   */
  double load;
  /**
   * Friction on the second, newtons. It belongs to several points together, and is told with the first of them.
   */
  double friction[3];
} sinew_contact;

/**
 * Two things began to touch.
 */
typedef struct sinew_strike {
  /**
   * `sizeof(sinew_strike)`.
   */
  uint32_t struct_size;
  /**
   * One node, by index; of the same two nodes always the same one.
   */
  uint32_t node_a;
  /**
   * The other.
   */
  uint32_t node_b;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * When, in seconds: between frames, not only at them.
   */
  double time;
  /**
   * The same in frames; frame 0 is time 0.
   */
  double frame;
  /**
   * Where, in the world and the host's axes, scene units.
   */
  double point[3];
  /**
   * Direction from the first to the second.
   */
  double normal[3];
  /**
   * Impulse on the second in the sub-step of the strike, friction included, newton seconds; of soft things only the
   * beginning of the push. The first got the opposite.
   */
  double impulse[3];
  /**
   * Speed at which they closed in, scene units per second.
   */
  double speed;
} sinew_strike;

/**
 * What the deformation of a mesh has, without its numbers. Set `struct_size` before asking.
 */
typedef struct sinew_deformation_info {
  /**
   * `sizeof(sinew_deformation_info)`.
   */
  uint32_t struct_size;
  /**
   * The node whose mesh it is, by index.
   */
  uint32_t node;
  /**
   * Shapes that are added to the mesh.
   */
  uint32_t target_count;
  /**
   * Vertices of the mesh.
   */
  uint32_t vertex_count;
  /**
   * Keys of the weights.
   */
  size_t key_count;
} sinew_deformation_info;

/**
 * It worked.
 */
#define SINEW_OK 0

/**
 * An argument is NULL where it may not be, is no number, no UTF-8, or contradicts another.
 */
#define SINEW_INVALID_ARGUMENT 1

/**
 * The scene or the curves are not what they must be.
 */
#define SINEW_BAD_INPUT 2

/**
 * The system would not read or write a file.
 */
#define SINEW_IO 3

/**
 * The set-up is not what it must be, or does not fit the scene.
 */
#define SINEW_BAD_SETUP 4

/**
 * A progress callback said stop. Nothing was written, and the handles are as before.
 */
#define SINEW_CANCELLED 5

/**
 * A defect in Sinew was hit. The handles of this call are poisoned: they can only be freed.
 */
#define SINEW_PANICKED 6

/**
 * An earlier call with this handle returned `SINEW_PANICKED`.
 */
#define SINEW_POISONED 7

/**
 * The host was made for another version of this interface.
 */
#define SINEW_WRONG_ABI 8

/**
 * An index or a number is outside what there is.
 */
#define SINEW_OUT_OF_RANGE 9

/**
 * A buffer is too small; the text says what is needed. Nothing was copied.
 */
#define SINEW_TOO_SMALL 10

/**
 * The handle was freed, was never given out, or is of another kind.
 */
#define SINEW_BAD_HANDLE 11

/**
 * Another call is using the handle: another thread, or the call whose callback this is.
 */
#define SINEW_BUSY 12

/**
 * This cannot be done with a handle of this origin.
 */
#define SINEW_NOT_SUPPORTED 13

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Copies the text of this thread's last failed call: what was wrong, with which object, and what to do.
 *
 * Up to `capacity - 1` bytes of UTF-8 and a zero byte go to `buffer`; a character is never cut in two. Returns
 * the length of the whole text without the zero byte, 0 when no call has failed. Calls that succeed leave the
 * text alone. `buffer` may be NULL when `capacity` is 0.
 *
 * Thread: any; each thread has its own text. Never fails.
 */
size_t sinew_last_error(char *buffer,
                        size_t capacity);

/**
 * The name of a code, as `"SINEW_IO"`; `"SINEW_UNKNOWN"` for a number that this library does not know. Ends in a
 * zero byte, lives for ever, is not to be freed.
 *
 * Thread: any. Never fails.
 */
const char *sinew_result_name(sinew_result result);

/**
 * The version of this interface that the library has: major in the upper 16 bits, minor in the lower. A library
 * of the same major and at least the same minor serves a host.
 *
 * Thread: any. Never fails.
 */
uint32_t sinew_abi_version(void);

/**
 * Whether this library serves a host made for version `wanted`; pass `SINEW_ABI_VERSION`, before anything else.
 *
 * Thread: any. Errors: `SINEW_WRONG_ABI`.
 */
sinew_result sinew_abi_check(uint32_t wanted);

/**
 * Copies the version of the program, as `"0.1.0"`: up to `capacity - 1` bytes and a zero byte. Returns the length
 * of the whole text without the zero byte. `buffer` may be NULL when `capacity` is 0.
 *
 * Thread: any. Never fails.
 */
size_t sinew_version(char *buffer,
                     size_t capacity);

/**
 * Fills in the defaults: not cancelled. `struct_size` is `sizeof(sinew_watch)`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
 */
sinew_result sinew_watch_init(struct sinew_watch *watch, size_t struct_size);

/**
 * A `sinew_progress_fn` that notes how far it is in a `sinew_watch` and cancels where that says so: give it to
 * `sinew_callbacks` as `progress`, and the watch as `user`. The watch must stay where it is until the call is over. Not
 * for calling yourself.
 *
 * Thread: any. Errors: cancels where `user` is no watch.
 */
int32_t sinew_watch_progress(void *user,
                             const struct sinew_progress *progress);

/**
 * Fills in the defaults: no callbacks. `struct_size` is `sizeof(sinew_callbacks)`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
 */
sinew_result sinew_callbacks_init(struct sinew_callbacks *callbacks, size_t struct_size);

/**
 * Fills in the defaults. `struct_size` is `sizeof(sinew_open_options)`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
 */
sinew_result sinew_open_options_init(struct sinew_open_options *options, size_t struct_size);

/**
 * Opens a `.gltf`, `.glb`, `.usda`, `.usdc`, `.usd` or `.usdz` file. `options` may be NULL. The new scene goes to `out` and is the caller's, to be
 * freed with `sinew_scene_free`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT`, `SINEW_IO`.
 */
sinew_result sinew_scene_open(const char *path,
                              size_t path_length,
                              const struct sinew_open_options *options,
                              struct sinew_scene **out);

/**
 * Opens GLB, glTF or USD (`.usda`, `.usdc`, `.usdz`) from memory; the bytes say which. Only data inside the document can
 * be used: buffers and layers in other files are refused.
 * `name` is what messages call it; it may be empty. The bytes are copied. The new scene goes to `out` and is the
 * caller's, to be freed with `sinew_scene_free`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT`.
 */
sinew_result sinew_scene_open_memory(const uint8_t *bytes,
                                     size_t length,
                                     const char *name,
                                     size_t name_length,
                                     struct sinew_scene **out);

/**
 * Opens a USD stage that this process has in memory: `id` is its number in the stage cache of OpenUSD's UsdUtils
 * (`UsdUtilsStageCache::Get().Insert(stage).ToLongInt()`). Needs the bridge to that very OpenUSD (`SINEW_OPENUSD_BRIDGE` in the
 * environment). What `sinew_scene_put_on_stage` put on the stage before does not count. `options` may be NULL. The new
 * scene goes to `out` and is the caller's, to be freed with `sinew_scene_free`.
 *
 * Thread: any, as long as nobody changes the stage. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT` (no bridge, no
 * such stage), `SINEW_IO`.
 */
sinew_result sinew_scene_open_stage(int64_t id,
                                    const struct sinew_open_options *options,
                                    struct sinew_scene **out);

/**
 * Puts what was added to a scene from `sinew_scene_open_stage` on that stage: as a layer of its own below the session layer,
 * in place of what this put there before. Nothing else of the stage changes.
 *
 * Thread: the one that may change the stage. Errors: `SINEW_BAD_INPUT` (the stage is gone), `SINEW_NOT_SUPPORTED` (the
 * scene is not from a stage), handle errors.
 */
sinew_result sinew_scene_put_on_stage(const struct sinew_scene *scene);

/**
 * Frees a scene. NULL is fine. Jobs and sessions made from it live on.
 *
 * Thread: any. Errors: `SINEW_BAD_HANDLE`.
 */
sinew_result sinew_scene_free(struct sinew_scene *scene);

/**
 * Copies what was amiss in the file, one line each (see "Texts").
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_scene_warnings(const struct sinew_scene *scene,
                                  char *buffer,
                                  size_t capacity,
                                  size_t *length);

/**
 * Puts the curves of a job on this scene into it as a clip, with the guiding clip's other curves. `name` may be
 * empty: then it is the job's, numbered if there is one of that name. `replace` other than 0 puts the clip in
 * place of the one of its name, or else of the guiding one. The clip's index goes to `out`, which may be NULL.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT` (the name is taken), `SINEW_BAD_INPUT` (the job is of
 * another scene), `SINEW_NOT_SUPPORTED` (the scene is not from a file, or a layer of differences is for USD), handle
 * errors. The scene is then as before.
 */
sinew_result sinew_scene_add_job(struct sinew_scene *scene,
                                 const struct sinew_job *job,
                                 const char *name,
                                 size_t name_length,
                                 int32_t replace,
                                 uint32_t *out);

/**
 * Saves to a file, whole or not at all, in the format that the ending of its name says: `.gltf`, `.glb`, `.usda`, `.usdc`,
 * `.usd`, `.usdz`. A scene from USD saved as USD is a new layer over its file; as `.usdz` it is whole.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT`, `SINEW_IO`, `SINEW_NOT_SUPPORTED`
 * (the scene is not from a file), handle errors.
 */
sinew_result sinew_scene_save(const struct sinew_scene *scene,
                              const char *path,
                              size_t path_length);

/**
 * Saves as `sinew_scene_save` does, with a set-up in the file as its physics: in USD as UsdPhysics, in glTF as
 * `physics` says (`SINEW_PHYSICS_...`). What the format cannot express is told by the callbacks, which may be NULL.
 *
 * Thread: any, scene and set-up `const`. Errors: those of `sinew_scene_save`, `SINEW_BAD_SETUP` (a body that is not in
 * the scene, or nothing that is simulated), `SINEW_OUT_OF_RANGE` (no such `physics`).
 */
sinew_result sinew_scene_save_physics(const struct sinew_scene *scene,
                                      const struct sinew_setup *setup,
                                      int32_t physics,
                                      const char *path,
                                      size_t path_length,
                                      const struct sinew_callbacks *callbacks);

/**
 * Fills in the defaults. `struct_size` is `sizeof(sinew_scene_options)`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
 */
sinew_result sinew_scene_options_init(struct sinew_scene_options *options, size_t struct_size);

/**
 * Makes an empty scene for a host that has no file. `name` is for messages, `options` may be NULL. The new scene
 * goes to `out` and is the caller's, to be freed with `sinew_scene_free`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`.
 */
sinew_result sinew_scene_create(const char *name,
                                size_t name_length,
                                const struct sinew_scene_options *options,
                                struct sinew_scene **out);

/**
 * Sets the frames per second that the host plays at.
 *
 * Thread: one at a time. Errors: `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene is from a file), handle
 * errors.
 */
sinew_result sinew_scene_set_frame_rate(struct sinew_scene *scene,
                                        double frames_per_second);

/**
 * Adds a node. `parent` is the index of an earlier node, or `SINEW_NONE`. `transform` is ten numbers: translation
 * xyz, rotation xyzw, scale xyz, relative to the parent and applied scale first; NULL for none. Its index goes to
 * `out`, which may be NULL; indices count from 0.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene
 * is from a file), handle errors.
 */
sinew_result sinew_scene_add_node(struct sinew_scene *scene,
                                  const char *name,
                                  size_t name_length,
                                  uint32_t parent,
                                  const double *transform,
                                  uint32_t *out);

/**
 * Gives a node a mesh, for its mass and shape: `vertex_count` positions of three numbers in the node's frame, and
 * `triangle_count` triangles of three vertex indices. Without triangles only the extent of the positions counts.
 * All is copied.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene
 * is from a file), handle errors.
 */
sinew_result sinew_scene_set_mesh(struct sinew_scene *scene,
                                  uint32_t node,
                                  const double *positions,
                                  size_t vertex_count,
                                  const uint32_t *triangles,
                                  size_t triangle_count);

/**
 * As `sinew_scene_set_mesh`, with positions in single precision.
 *
 * Thread: one at a time. Errors: as `sinew_scene_set_mesh`.
 */
sinew_result sinew_scene_set_mesh_f32(struct sinew_scene *scene,
                                      uint32_t node,
                                      const float *positions,
                                      size_t vertex_count,
                                      const uint32_t *triangles,
                                      size_t triangle_count);

/**
 * Says that a node's mesh is deformed by bones: `joint_count` node indices. Bones are simulated differently from
 * objects; nothing is skinned here.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene
 * is from a file), handle errors.
 */
sinew_result sinew_scene_set_skin(struct sinew_scene *scene,
                                  uint32_t node,
                                  const uint32_t *joints,
                                  size_t joint_count);

/**
 * Adds an empty clip. Its index goes to `out`, which may be NULL.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_NOT_SUPPORTED` (the scene is from a file),
 * handle errors.
 */
sinew_result sinew_scene_add_clip(struct sinew_scene *scene,
                                  const char *name,
                                  size_t name_length,
                                  uint32_t *out);

/**
 * Adds a curve to a clip: one per node and property. All is copied.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT` (the keys make no curve),
 * `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene is from a file), handle errors.
 */
sinew_result sinew_scene_add_curve(struct sinew_scene *scene, uint32_t clip, const struct sinew_curve *curve);

/**
 * Says how bones pull at the vertices of a node's mesh, so that bones get the shape of what follows them. Of the node,
 * mesh and skin must be there. `count` pulls, each a vertex, the place of a bone in the skin's list, and a weight above
 * 0; those of a vertex are scaled to sum to 1. `bind` is sixteen numbers per bone of the skin, column after column: from
 * the mesh's space to the bone's as they were bound, as glTF's inverse bind matrices; NULL where bones are bound at the
 * mesh's origin. All is copied, and setting the mesh or the skin again forgets it.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_NOT_SUPPORTED` (the scene
 * is from a file), handle errors. The scene is then as before.
 */
sinew_result sinew_scene_set_weights(struct sinew_scene *scene,
                                     uint32_t node,
                                     const uint32_t *vertices,
                                     const uint32_t *joints,
                                     const double *weights,
                                     size_t count,
                                     const double *bind);

/**
 * Nodes of the scene; their indices count from 0.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_scene_node_count(const struct sinew_scene *scene, uint32_t *out);

/**
 * Copies a node's name, which may be empty (see "Texts").
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_scene_node_name(const struct sinew_scene *scene,
                                   uint32_t node,
                                   char *buffer,
                                   size_t capacity,
                                   size_t *length);

/**
 * The index of a node's parent; `SINEW_NONE` for a root.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_scene_node_parent(const struct sinew_scene *scene, uint32_t node, uint32_t *out);

/**
 * A node's rest transform relative to its parent, in the host's axes: ten numbers (translation xyz, rotation xyzw,
 * scale xyz) to `out`, which has room for `capacity`.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`,
 * `SINEW_BAD_INPUT` (the node has a matrix that no such numbers make), handle errors.
 */
sinew_result sinew_scene_node_transform(const struct sinew_scene *scene,
                                        uint32_t node,
                                        double *out,
                                        size_t capacity);

/**
 * The index of the node of that name; of the first, when a name is used twice.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT` (there is none), handle errors.
 */
sinew_result sinew_scene_node_find(const struct sinew_scene *scene,
                                   const char *name,
                                   size_t name_length,
                                   uint32_t *out);

/**
 * Clips of the scene; their indices count from 0.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_scene_clip_count(const struct sinew_scene *scene, uint32_t *out);

/**
 * Copies a clip's name, which may be empty (see "Texts").
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_scene_clip_name(const struct sinew_scene *scene,
                                   uint32_t clip,
                                   char *buffer,
                                   size_t capacity,
                                   size_t *length);

/**
 * The index of the clip of that name.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_INPUT` (there is none), handle errors.
 */
sinew_result sinew_scene_clip_find(const struct sinew_scene *scene,
                                   const char *name,
                                   size_t name_length,
                                   uint32_t *out);

/**
 * Times of a clip's first and last key, in seconds; both 0 without keys.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_scene_clip_range(const struct sinew_scene *scene,
                                    uint32_t clip,
                                    double *out_first,
                                    double *out_last);

/**
 * Curves of a clip; their indices count from 0.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_scene_curve_count(const struct sinew_scene *scene, uint32_t clip, uint32_t *out);

/**
 * What a curve of a clip has. Set `info->struct_size` first.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_scene_curve_info(const struct sinew_scene *scene,
                                    uint32_t clip,
                                    uint32_t curve,
                                    struct sinew_curve_info *info);

/**
 * Copies a curve's keys, in the host's axes. `times` has room for `key_capacity` numbers, `values`, `arriving` and
 * `leaving` for that times the curve's width; each may be NULL. Tangents of a curve that is not cubic are zeros.
 *
 * Thread: any, `const`. Errors: `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_scene_curve_read(const struct sinew_scene *scene,
                                    uint32_t clip,
                                    uint32_t curve,
                                    size_t key_capacity,
                                    double *times,
                                    double *values,
                                    double *arriving,
                                    double *leaving);

/**
 * Makes an empty set-up. It goes to `out` and is the caller's, to be freed with `sinew_setup_free`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
 */
sinew_result sinew_setup_create(struct sinew_setup **out);

/**
 * Reads a set-up from the text of a set-up file. It goes to `out` and is the caller's, to be freed with
 * `sinew_setup_free`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP` (the text says where and what was meant).
 */
sinew_result sinew_setup_from_json(const char *json, size_t json_length, struct sinew_setup **out);

/**
 * Reads a set-up file. The set-up goes to `out` and is the caller's, to be freed with `sinew_setup_free`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP`, `SINEW_IO`.
 */
sinew_result sinew_setup_open(const char *path, size_t path_length, struct sinew_setup **out);

/**
 * Makes a set-up from the physics in a scene's file, or else from its keys, guided by the clip of that name or
 * `#index`; empty for the first that moves something. It goes to `out` and is the caller's, to be freed with
 * `sinew_setup_free`.
 *
 * Thread: any, the scene `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP` (no such clip), handle
 * errors.
 */
sinew_result sinew_setup_automatic(const struct sinew_scene *scene,
                                   const char *clip,
                                   size_t clip_length,
                                   struct sinew_setup **out);

/**
 * Frees a set-up. NULL is fine. Jobs and sessions made with it live on.
 *
 * Thread: any. Errors: `SINEW_BAD_HANDLE`.
 */
sinew_result sinew_setup_free(struct sinew_setup *setup);

/**
 * Copies the set-up as the text of a set-up file (see "Texts").
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_setup_to_json(const struct sinew_setup *setup,
                                 char *buffer,
                                 size_t capacity,
                                 size_t *length);

/**
 * Adds a guided body on the node of that name (or `#index`), everything else by default. Whether the scene has
 * such a node is checked when a job or session begins.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT` (empty, or there is one already), handle errors.
 */
sinew_result sinew_setup_add_body(struct sinew_setup *setup,
                                  const char *node,
                                  size_t node_length);

/**
 * Sets a number at a place (see "Places in a set-up").
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP` (no such place, or not a number
 * there), handle errors. The set-up is then as before.
 */
sinew_result sinew_setup_set_number(struct sinew_setup *setup,
                                    const char *place,
                                    size_t place_length,
                                    double value);

/**
 * Sets numbers, such as a vector, at a place (see "Places in a set-up").
 *
 * Thread: one at a time. Errors: as `sinew_setup_set_number`.
 */
sinew_result sinew_setup_set_numbers(struct sinew_setup *setup,
                                     const char *place,
                                     size_t place_length,
                                     const double *values,
                                     size_t count);

/**
 * Sets keys at a place that is keyable (see "Places in a set-up"): `count` times in seconds, increasing, and as
 * many values. `interpolation` is `SINEW_STEP` or `SINEW_LINEAR`.
 *
 * Thread: one at a time. Errors: as `sinew_setup_set_number`.
 */
sinew_result sinew_setup_set_keys(struct sinew_setup *setup,
                                  const char *place,
                                  size_t place_length,
                                  int32_t interpolation,
                                  const double *times,
                                  const double *values,
                                  size_t count);

/**
 * Sets a word, such as a behaviour or a preset, at a place (see "Places in a set-up").
 *
 * Thread: one at a time. Errors: as `sinew_setup_set_number`.
 */
sinew_result sinew_setup_set_text(struct sinew_setup *setup,
                                  const char *place,
                                  size_t place_length,
                                  const char *text,
                                  size_t text_length);

/**
 * Sets anything, as JSON, at a place (see "Places in a set-up").
 *
 * Thread: one at a time. Errors: as `sinew_setup_set_number`.
 */
sinew_result sinew_setup_set_json(struct sinew_setup *setup,
                                  const char *place,
                                  size_t place_length,
                                  const char *json,
                                  size_t json_length);

/**
 * Removes what is at a place (see "Places in a set-up"): a body, or a value, which then has its default.
 *
 * Thread: one at a time. Errors: as `sinew_setup_set_number`.
 */
sinew_result sinew_setup_remove(struct sinew_setup *setup, const char *place, size_t place_length);

/**
 * Makes every body chase its keys as a preset (`SINEW_PRESET_...`) has it, as a job with that preset does.
 *
 * Thread: one at a time. Errors: `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_setup_use_preset(struct sinew_setup *setup, int32_t preset);

/**
 * Copies what is at a place as JSON (see "Places in a set-up" and "Texts").
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP` (nothing is there), `SINEW_TOO_SMALL`,
 * handle errors.
 */
sinew_result sinew_setup_get_json(const struct sinew_setup *setup,
                                  const char *place,
                                  size_t place_length,
                                  char *buffer,
                                  size_t capacity,
                                  size_t *length);

/**
 * Fills in the defaults. `struct_size` is `sizeof(sinew_job_options)`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
 */
sinew_result sinew_job_options_init(struct sinew_job_options *options, size_t struct_size);

/**
 * Simulates a scene and bakes curves, from the first frame to the last. `setup` may be NULL for an automatic one,
 * `options` and `callbacks` for none. The finished job goes to `out` and is the caller's, to be freed with
 * `sinew_job_free`. The scene is not changed; see `sinew_scene_add_job`.
 *
 * Thread: any, scene and set-up `const`; callbacks run on the calling thread. Errors: `SINEW_INVALID_ARGUMENT`,
 * `SINEW_OUT_OF_RANGE`, `SINEW_BAD_SETUP`, `SINEW_BAD_INPUT`, `SINEW_CANCELLED`, handle errors.
 */
sinew_result sinew_job_run(const struct sinew_scene *scene,
                           const struct sinew_setup *setup,
                           const struct sinew_job_options *options,
                           const struct sinew_callbacks *callbacks,
                           struct sinew_job **out);

/**
 * Frees a job. NULL is fine.
 *
 * Thread: any. Errors: `SINEW_BAD_HANDLE`.
 */
sinew_result sinew_job_free(struct sinew_job *job);

/**
 * How a job ended: `SINEW_STATUS_DONE` or `SINEW_STATUS_FELL_SHORT`.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_job_status(const struct sinew_job *job, int32_t *out);

/**
 * Copies the report as JSON (see "Texts"), as `sinew bake --json` prints it.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_job_report(const struct sinew_job *job, char *buffer, size_t capacity, size_t *length);

/**
 * Baked curves, of the whole motion, or of `SINEW_LAYER_ADDITIVE` where only that was asked for; their indices count
 * from 0.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_job_curve_count(const struct sinew_job *job,
                                   uint32_t *out);

/**
 * What a baked curve has. Set `info->struct_size` first.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_job_curve_info(const struct sinew_job *job, uint32_t curve, struct sinew_curve_info *info);

/**
 * Copies a baked curve's keys, in the host's axes and relative to the node's parent. `times` has room for
 * `key_capacity` numbers, `values`, `arriving` and `leaving` for that times the curve's width; each may be NULL.
 * Tangents of a curve that is not cubic are zeros.
 *
 * Thread: any, `const`. Errors: `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_job_curve_read(const struct sinew_job *job,
                                  uint32_t curve,
                                  size_t key_capacity,
                                  double *times,
                                  double *values,
                                  double *arriving,
                                  double *leaving);

/**
 * Frames simulated.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_job_frame_count(const struct sinew_job *job, size_t *out);

/**
 * Bodies simulated; their indices count from 0, parents before children.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_job_body_count(const struct sinew_job *job, uint32_t *out);

/**
 * The node of a body, by index.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_job_body_node(const struct sinew_job *job, uint32_t body, uint32_t *out);

/**
 * Copies the times of the frames, in seconds: as many numbers as there are frames. `capacity` counts numbers.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_job_times(const struct sinew_job *job, double *times, size_t capacity);

/**
 * Copies where every body's node is at every frame, in the world and the host's axes: seven numbers (position xyz,
 * quaternion xyzw) per body, bodies in order, frame after frame. `capacity` counts numbers.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_job_poses(const struct sinew_job *job,
                             double *poses,
                             size_t capacity);

/**
 * Copies at which frames bodies were at the limit of their strength: one number per body, 1 when its actuator was at a
 * limit since the frame before and else 0, bodies in order, frame after frame. `capacity` counts numbers.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_job_saturated(const struct sinew_job *job,
                                 uint32_t *saturated,
                                 size_t capacity);

/**
 * Sets what every job that begins from now on may use, in this process: `seconds` of time, and `samples`, its frames times its
 * bodies; 0 for no limit of time, and for as many samples as without this call. A job that is late ends with
 * `SINEW_CANCELLED` at its next frame; one of too many samples, or for which there is not enough memory, is refused with
 * `SINEW_BAD_SETUP`.
 *
 * Thread: any. Errors: `SINEW_OUT_OF_RANGE`.
 */
sinew_result sinew_set_limits(double seconds,
                              size_t samples);

/**
 * Fills in the defaults. `struct_size` is `sizeof(sinew_bake_request)`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
 */
sinew_result sinew_bake_request_init(struct sinew_bake_request *request, size_t struct_size);

/**
 * Opens a scene, simulates, bakes and saves; a call that fails or is cancelled writes nothing. `callbacks` may be
 * NULL. The report goes to `out`, which may be NULL, and is the caller's, to be freed with `sinew_report_free`.
 *
 * Thread: any; callbacks run on the calling thread. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`,
 * `SINEW_BAD_INPUT`, `SINEW_BAD_SETUP`, `SINEW_IO`, `SINEW_CANCELLED`.
 */
sinew_result sinew_bake_file(const struct sinew_bake_request *request,
                             const struct sinew_callbacks *callbacks,
                             struct sinew_report **out);

/**
 * How a bake ended: `SINEW_STATUS_DONE` or `SINEW_STATUS_FELL_SHORT`.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_report_status(const struct sinew_report *report, int32_t *out);

/**
 * Copies the report as JSON (see "Texts"), as `sinew bake --json` prints it.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_report_json(const struct sinew_report *report,
                               char *buffer,
                               size_t capacity,
                               size_t *length);

/**
 * Frees a report. NULL is fine.
 *
 * Thread: any. Errors: `SINEW_BAD_HANDLE`.
 */
sinew_result sinew_report_free(struct sinew_report *report);

/**
 * Begins a live simulation at the first frame. `setup` may be NULL for an automatic one. The new session goes to
 * `out` and is the caller's, to be freed with `sinew_session_free`. It keeps nothing of scene and set-up.
 *
 * Thread: any, scene and set-up `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_BAD_SETUP`, handle errors.
 */
sinew_result sinew_session_create(const struct sinew_scene *scene,
                                  const struct sinew_setup *setup,
                                  struct sinew_session **out);

/**
 * Frees a session. NULL is fine.
 *
 * Thread: any. Errors: `SINEW_BAD_HANDLE`.
 */
sinew_result sinew_session_free(struct sinew_session *session);

/**
 * Changes a setting (`SINEW_SETTING_...`) of a body from now on: steps go on from where the body is. Seeking
 * afterwards, to whatever time, simulates from the first frame with it, as a bake would; so a player that changes
 * settings should either step or seek, not both.
 *
 * Thread: one at a time. Errors: `SINEW_OUT_OF_RANGE` (no such body or setting, or the value makes no sense; the
 * text says what does), handle errors.
 */
sinew_result sinew_session_set(struct sinew_session *session,
                               uint32_t body,
                               int32_t setting,
                               double value);

/**
 * As `sinew_session_set`, with the setting's name as in a set-up file, such as `alpha` or `base_angle_deg`.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT` (no such name; the text proposes one), and those of
 * `sinew_session_set`.
 */
sinew_result sinew_session_set_named(struct sinew_session *session,
                                     uint32_t body,
                                     const char *setting,
                                     size_t setting_length,
                                     double value);

/**
 * Advances by `dt` seconds in one step, up to a second. Allocates nothing. After steps other than whole frames the
 * motion is no longer that of a job, until a seek.
 *
 * Thread: one at a time. Errors: `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_session_step(struct sinew_session *session,
                                double dt);

/**
 * Advances by one frame in the set-up's sub-steps: the same bits as a job has there. A state is kept now and then
 * for seeking back, which is the only thing that allocates.
 *
 * Thread: one at a time. Errors: handle errors.
 */
sinew_result sinew_session_step_frame(struct sinew_session *session);

/**
 * Goes to `time`, in seconds. The same bits whichever way one came: the past is simulated in whole frames, from
 * kept states where there are some. Times before the first frame are the first frame.
 *
 * Thread: one at a time. Errors: `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_session_seek(struct sinew_session *session,
                                double time);

/**
 * The session's time, in seconds.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_session_time(const struct sinew_session *session, double *out);

/**
 * Times of the first and last frame in seconds, and frames per second.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_session_range(const struct sinew_session *session,
                                 double *out_first,
                                 double *out_last,
                                 double *out_frames_per_second);

/**
 * Bodies simulated; their indices count from 0, parents before children.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_session_body_count(const struct sinew_session *session, uint32_t *out);

/**
 * The node of a body, by index.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_session_body_node(const struct sinew_session *session, uint32_t body, uint32_t *out);

/**
 * The body on a node, by index.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE` (the node is not simulated), handle
 * errors.
 */
sinew_result sinew_session_body_of_node(const struct sinew_session *session,
                                        uint32_t node,
                                        uint32_t *out);

/**
 * Copies where every body's node is, in the world and the host's axes: seven numbers (position xyz, quaternion
 * xyzw) per body. `capacity` counts numbers. Allocates nothing.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_session_poses(const struct sinew_session *session,
                                 double *poses,
                                 size_t capacity);

/**
 * Copies where every body's target is, for drawing, in the world and the host's axes: seven numbers per body
 * (position xyz of the target of the centre of mass, quaternion xyzw), and to `flags` one number per body, which
 * parts have a target (`SINEW_TARGET_...`). Where there is none, the body's own keys are given. `capacity` counts
 * numbers, `flags_capacity` bodies; `flags` may be NULL. Allocates nothing.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_session_targets(const struct sinew_session *session,
                                   double *targets,
                                   size_t capacity,
                                   uint32_t *flags,
                                   size_t flags_capacity);

/**
 * Copies how hard every body's actuator pulled at most since the frame (or the single step) began, for drawing, in the world and the host's axes: six
 * numbers per body (force xyz in newtons, torque xyz in newton metres), and to `saturated` one number per body,
 * 1 when it was at its limit and else 0. `capacity` counts numbers, `saturated_capacity` bodies; `saturated` may be
 * NULL. Allocates nothing.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_session_forces(const struct sinew_session *session,
                                  double *forces,
                                  size_t capacity,
                                  uint32_t *saturated,
                                  size_t saturated_capacity);

/**
 * Fills in the defaults. `struct_size` is `sizeof(sinew_grip)`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
 */
sinew_result sinew_grip_init(struct sinew_grip *grip, size_t struct_size);

/**
 * Fills in the defaults. `struct_size` is `sizeof(sinew_solver)`.
 *
 * Thread: any. Errors: `SINEW_INVALID_ARGUMENT`.
 */
sinew_result sinew_solver_init(struct sinew_solver *solver, size_t struct_size);

/**
 * Takes hold of a body where it is, with a hand that stays there until it is moved; nothing jumps. `grip` may be NULL
 * for the defaults. What only turns is turned by where it is held, towards the hand. The drag's number goes to `out`; it
 * is never given out again in this session. A body may be held by several hands, and several bodies at once. The set-up
 * does not change, and seeking ends all drags.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE` (no such body, or a number that makes
 * no sense), `SINEW_NOT_SUPPORTED` (nothing could be pulled there; the text says what to do), handle errors.
 */
sinew_result sinew_session_drag_begin(struct sinew_session *session,
                                      uint32_t body,
                                      const struct sinew_grip *grip,
                                      uint64_t *out);

/**
 * Says where a hand is to be: `target` is three numbers (the point that it holds on to, in the world and the host's
 * axes), or seven (that, and the node's orientation as a quaternion xyzw, for a grip with
 * `SINEW_GRIP_ORIENTATION`). The hand goes there evenly over the next frame; a turn of more than a radian takes longer.
 * Allocates nothing.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_BAD_HANDLE` (the drag has
 * ended), handle errors.
 */
sinew_result sinew_session_drag_move(struct sinew_session *session,
                                     uint64_t drag,
                                     const double *target,
                                     size_t target_count);

/**
 * Lets go. What was dragged goes on from where it is, as it moves.
 *
 * Thread: one at a time. Errors: `SINEW_BAD_HANDLE` (the drag has ended), handle errors.
 */
sinew_result sinew_session_drag_end(struct sinew_session *session, uint64_t drag);

/**
 * Drags without any motion, for hosts that pose: puts the hand at `target` (as for `sinew_session_drag_move`) at once
 * and pulls the pose after it as far as joints let it, in about `microseconds` at most. Time stands still, and all
 * bodies are at rest afterwards. How far the hand farthest off is from what it holds goes to `out_distance`, scene
 * units, which may be NULL: out of reach, or out of time; then calling again goes on.
 *
 * Thread: one at a time. Errors: those of `sinew_session_drag_move`.
 */
sinew_result sinew_session_drag_pose(struct sinew_session *session,
                                     uint64_t drag,
                                     const double *target,
                                     size_t target_count,
                                     double microseconds,
                                     double *out_distance);

/**
 * Changes how joints are solved, from now on: steps go on from where bodies are. NULL for the defaults. A step that
 * meets a limit leaves its joints as they are. Seeking afterwards simulates from the first frame with it; with
 * `microseconds` that is not the same every time.
 *
 * Thread: one at a time. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_session_set_solver(struct sinew_session *session,
                                      const struct sinew_solver *solver);

/**
 * Points at which something bears on something else where the session is; their indices count from 0 and change with
 * every step. None at the first frame, before which no step was taken.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_session_contact_count(const struct sinew_session *session,
                                         uint32_t *out);

/**
 * One of these points. Set `contact->struct_size` first. Allocates nothing.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_session_contact_info(const struct sinew_session *session,
                                        uint32_t index,
                                        struct sinew_contact *contact);

/**
 * What began to touch in the frame (or the single step) that led to where the session is; their indices count from 0,
 * and the order is that of the sub-steps.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_session_strike_count(const struct sinew_session *session,
                                        uint32_t *out);

/**
 * One of these strikes. Set `strike->struct_size` first. Allocates nothing.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_session_strike_info(const struct sinew_session *session,
                                       uint32_t index,
                                       struct sinew_strike *strike);

/**
 * Points at which something bears on something else at a frame of a job, counted from its first; their indices count
 * from 0.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_job_contact_count(const struct sinew_job *job,
                                     size_t frame,
                                     uint32_t *out);

/**
 * One of these points. Set `contact->struct_size` first.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_job_contact_info(const struct sinew_job *job,
                                    size_t frame,
                                    uint32_t index,
                                    struct sinew_contact *contact);

/**
 * Everything that began to touch in a job, in the order of time; their indices count from 0.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_job_strike_count(const struct sinew_job *job, uint32_t *out);

/**
 * One of these strikes. Set `strike->struct_size` first.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_job_strike_info(const struct sinew_job *job, uint32_t index, struct sinew_strike *strike);

/**
 * Copies lines that show what a node touches with, in the world and the host's axes as it is now: six numbers per line,
 * the places of its two ends. None for a node that nothing touches. `length` gets how many numbers there are, and may
 * be NULL; `lines` NULL with `capacity` 0 only asks for that.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_session_outline(const struct sinew_session *session,
                                   uint32_t node,
                                   double *lines,
                                   size_t capacity,
                                   size_t *length);

/**
 * Number of meshes that soft skins deform. It goes to `out`.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, handle errors.
 */
sinew_result sinew_job_deformation_count(const struct sinew_job *job, uint32_t *out);

/**
 * What a deformation has. Set `info->struct_size` first.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, handle errors.
 */
sinew_result sinew_job_deformation_info(const struct sinew_job *job,
                                        uint32_t deformation,
                                        struct sinew_deformation_info *info);

/**
 * Copies a deformation: to `targets` three numbers per vertex and target, target after target, by which the vertex is
 * away from its place in the mesh's own axes (the host's, as the mesh was given); to `times` the seconds of the keys, to
 * `weights` one number per target and key, key after key, straight in between. Capacities count numbers; each place may
 * be NULL.
 *
 * Thread: any, `const`. Errors: `SINEW_INVALID_ARGUMENT`, `SINEW_OUT_OF_RANGE`, `SINEW_TOO_SMALL`, handle errors.
 */
sinew_result sinew_job_deformation_read(const struct sinew_job *job,
                                        uint32_t deformation,
                                        double *targets,
                                        size_t targets_capacity,
                                        double *times,
                                        size_t times_capacity,
                                        double *weights,
                                        size_t weights_capacity);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SINEW_H */
