"""The C interface: constants, structs and functions. Made from the header by make_abi.py: do not edit.

`FUNCTIONS` has, for each function, the type that it returns and those that it takes. Handles are plain numbers
(`c_void_p`): the library looks them up and refuses what it did not give out.
"""

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, List, Tuple

NUL_TERMINATED = c_size_t(-1).value
NONE = 0xFFFFFFFF


ABI_VERSION = 65543
STAGE_OPEN = 0
STAGE_COMPILE = 1
STAGE_SIMULATE = 2
STAGE_BAKE = 3
STAGE_SAVE = 4
LOG_INFO = 0
LOG_WARNING = 1
UP_Y = 0
UP_Z = 1
TRANSLATION = 0
ROTATION = 1
SCALE = 2
WEIGHTS = 3
STEP = 0
LINEAR = 1
CUBIC = 2
PHYSICS_KHR = 0
PHYSICS_OMI = 1
STATUS_DONE = 0
STATUS_FELL_SHORT = 1
PRESET_NONE = 0
PRESET_SUBTLE = 1
PRESET_REACTIVE = 2
PRESET_LIMP = 3
PRESET_RAGDOLL = 4
PRESET_WEIGHTY = 5
PRESET_LOOSE = 6
EVERY_FRAME = 1
FRAMES = 2
SINGLE = 4
LOOP = 128
HOLD = 256
LOOSENESS = 8192
LAYER_NONE = 0
LAYER_FULL = 1
LAYER_ADDITIVE = 2
LAYER_BOTH = 3
REPLACE = 8
IN_PLACE = 16
AUTOMATIC = 32
COMPARE_STEPS = 64
FLATTEN = 1024
OPENUSD = 2048
SPLINES = 4096
SETTING_ALPHA = 0
SETTING_DAMPING = 1
SETTING_RELAXATION_TIME = 2
SETTING_MAX_FORCE = 3
SETTING_MAX_TORQUE = 4
SETTING_COMPENSATION = 5
SETTING_KEEP_UP = 6
SETTING_BLEND = 7
SETTING_BASE_DISTANCE = 8
SETTING_BASE_ANGLE = 9
SETTING_ANTICIPATION = 10
TARGET_POSITION = 1
TARGET_ORIENTATION = 2
GRIP_ORIENTATION = 1
GRIP_WORLD = 2
TIER_DIRECT = 0
TIER_ITERATIVE = 1
TIER_PAIRWISE = 2
OK = 0
INVALID_ARGUMENT = 1
BAD_INPUT = 2
IO = 3
BAD_SETUP = 4
CANCELLED = 5
PANICKED = 6
POISONED = 7
WRONG_ABI = 8
OUT_OF_RANGE = 9
TOO_SMALL = 10
BAD_HANDLE = 11
BUSY = 12
NOT_SUPPORTED = 13


class watch(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("cancel", c_uint32),
        ("stage", c_int32),
        ("reserved", c_uint32),
        ("done", c_uint64),
        ("of", c_uint64),
    ]


class progress(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("stage", c_int32),
        ("done", c_uint64),
        ("of", c_uint64),
    ]


progress_fn = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(progress))
log_fn = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_void_p, c_size_t)


class callbacks(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("progress", progress_fn),
        ("log", log_fn),
        ("user", c_void_p),
    ]


class open_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("asset_root", c_char_p),
        ("asset_root_length", c_size_t),
        ("flags", c_uint32),
        ("reserved_2", c_uint32),
    ]


class scene_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("up_axis", c_int32),
        ("metres_per_unit", c_double),
        ("frames_per_second", c_double),
    ]


class curve(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("node", c_uint32),
        ("property", c_int32),
        ("interpolation", c_int32),
        ("width", c_uint32),
        ("reserved", c_uint32),
        ("key_count", c_size_t),
        ("times", POINTER(c_double)),
        ("values", POINTER(c_double)),
        ("arriving", POINTER(c_double)),
        ("leaving", POINTER(c_double)),
    ]


class curve_info(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("node", c_uint32),
        ("property", c_int32),
        ("interpolation", c_int32),
        ("width", c_uint32),
        ("reserved", c_uint32),
        ("key_count", c_size_t),
    ]


class job_options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("preset", c_int32),
        ("reserved", c_uint32),
        ("first_frame", c_double),
        ("last_frame", c_double),
        ("tolerance", c_double),
        ("clip", c_char_p),
        ("clip_length", c_size_t),
        ("name", c_char_p),
        ("name_length", c_size_t),
        ("tolerance_deg", c_double),
        ("hold_frame", c_double),
        ("every", c_uint32),
        ("layer", c_int32),
        ("only", c_char_p),
        ("only_length", c_size_t),
        ("looseness", c_double),
    ]


class bake_request(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("preset", c_int32),
        ("reserved", c_uint32),
        ("first_frame", c_double),
        ("last_frame", c_double),
        ("tolerance", c_double),
        ("scene", c_char_p),
        ("scene_length", c_size_t),
        ("output", c_char_p),
        ("output_length", c_size_t),
        ("setup", c_char_p),
        ("setup_length", c_size_t),
        ("clip", c_char_p),
        ("clip_length", c_size_t),
        ("name", c_char_p),
        ("name_length", c_size_t),
        ("asset_root", c_char_p),
        ("asset_root_length", c_size_t),
        ("plot", c_char_p),
        ("plot_length", c_size_t),
        ("contacts", c_char_p),
        ("contacts_length", c_size_t),
        ("tolerance_deg", c_double),
        ("hold_frame", c_double),
        ("every", c_uint32),
        ("layer", c_int32),
        ("only", c_char_p),
        ("only_length", c_size_t),
        ("mass", c_double),
        ("height", c_double),
        ("looseness", c_double),
    ]


class grip(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("at", c_double * 3),
        ("strength", c_double),
    ]


class solver(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("tier", c_int32),
        ("rounds", c_uint32),
        ("iterations", c_uint32),
        ("microseconds", c_double),
    ]


class contact(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("node_a", c_uint32),
        ("node_b", c_uint32),
        ("reserved", c_uint32),
        ("point", c_double * 3),
        ("normal", c_double * 3),
        ("load", c_double),
        ("friction", c_double * 3),
    ]


class strike(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("node_a", c_uint32),
        ("node_b", c_uint32),
        ("reserved", c_uint32),
        ("time", c_double),
        ("frame", c_double),
        ("point", c_double * 3),
        ("normal", c_double * 3),
        ("impulse", c_double * 3),
        ("speed", c_double),
    ]


class deformation_info(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("node", c_uint32),
        ("target_count", c_uint32),
        ("vertex_count", c_uint32),
        ("key_count", c_size_t),
    ]


STRUCTS: Dict[str, Any] = {"sinew_watch": watch, "sinew_progress": progress, "sinew_callbacks": callbacks, "sinew_open_options": open_options, "sinew_scene_options": scene_options, "sinew_curve": curve, "sinew_curve_info": curve_info, "sinew_job_options": job_options, "sinew_bake_request": bake_request, "sinew_grip": grip, "sinew_solver": solver, "sinew_contact": contact, "sinew_strike": strike, "sinew_deformation_info": deformation_info}

FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "sinew_last_error": (c_size_t, [c_char_p, c_size_t]),
    "sinew_result_name": (c_char_p, [c_int32]),
    "sinew_abi_version": (c_uint32, []),
    "sinew_abi_check": (c_int32, [c_uint32]),
    "sinew_version": (c_size_t, [c_char_p, c_size_t]),
    "sinew_watch_init": (c_int32, [POINTER(watch), c_size_t]),
    "sinew_watch_progress": (c_int32, [c_void_p, POINTER(progress)]),
    "sinew_callbacks_init": (c_int32, [POINTER(callbacks), c_size_t]),
    "sinew_open_options_init": (c_int32, [POINTER(open_options), c_size_t]),
    "sinew_scene_open": (c_int32, [c_char_p, c_size_t, POINTER(open_options), POINTER(c_void_p)]),
    "sinew_scene_open_memory": (c_int32, [POINTER(c_uint8), c_size_t, c_char_p, c_size_t, POINTER(c_void_p)]),
    "sinew_scene_open_stage": (c_int32, [c_int64, POINTER(open_options), POINTER(c_void_p)]),
    "sinew_scene_put_on_stage": (c_int32, [c_void_p]),
    "sinew_scene_free": (c_int32, [c_void_p]),
    "sinew_scene_warnings": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "sinew_scene_add_job": (c_int32, [c_void_p, c_void_p, c_char_p, c_size_t, c_int32, POINTER(c_uint32)]),
    "sinew_scene_save": (c_int32, [c_void_p, c_char_p, c_size_t]),
    "sinew_scene_save_physics": (c_int32, [c_void_p, c_void_p, c_int32, c_char_p, c_size_t, POINTER(callbacks)]),
    "sinew_scene_options_init": (c_int32, [POINTER(scene_options), c_size_t]),
    "sinew_scene_create": (c_int32, [c_char_p, c_size_t, POINTER(scene_options), POINTER(c_void_p)]),
    "sinew_scene_set_frame_rate": (c_int32, [c_void_p, c_double]),
    "sinew_scene_add_node": (c_int32, [c_void_p, c_char_p, c_size_t, c_uint32, POINTER(c_double), POINTER(c_uint32)]),
    "sinew_scene_set_mesh": (c_int32, [c_void_p, c_uint32, POINTER(c_double), c_size_t, POINTER(c_uint32), c_size_t]),
    "sinew_scene_set_mesh_f32": (c_int32, [c_void_p, c_uint32, POINTER(c_float), c_size_t, POINTER(c_uint32), c_size_t]),
    "sinew_scene_set_skin": (c_int32, [c_void_p, c_uint32, POINTER(c_uint32), c_size_t]),
    "sinew_scene_add_clip": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_uint32)]),
    "sinew_scene_add_curve": (c_int32, [c_void_p, c_uint32, POINTER(curve)]),
    "sinew_scene_set_weights": (c_int32, [c_void_p, c_uint32, POINTER(c_uint32), POINTER(c_uint32), POINTER(c_double), c_size_t, POINTER(c_double)]),
    "sinew_scene_node_count": (c_int32, [c_void_p, POINTER(c_uint32)]),
    "sinew_scene_node_name": (c_int32, [c_void_p, c_uint32, c_char_p, c_size_t, POINTER(c_size_t)]),
    "sinew_scene_node_parent": (c_int32, [c_void_p, c_uint32, POINTER(c_uint32)]),
    "sinew_scene_node_transform": (c_int32, [c_void_p, c_uint32, POINTER(c_double), c_size_t]),
    "sinew_scene_node_find": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_uint32)]),
    "sinew_scene_clip_count": (c_int32, [c_void_p, POINTER(c_uint32)]),
    "sinew_scene_clip_name": (c_int32, [c_void_p, c_uint32, c_char_p, c_size_t, POINTER(c_size_t)]),
    "sinew_scene_clip_find": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_uint32)]),
    "sinew_scene_clip_range": (c_int32, [c_void_p, c_uint32, POINTER(c_double), POINTER(c_double)]),
    "sinew_scene_curve_count": (c_int32, [c_void_p, c_uint32, POINTER(c_uint32)]),
    "sinew_scene_curve_info": (c_int32, [c_void_p, c_uint32, c_uint32, POINTER(curve_info)]),
    "sinew_scene_curve_read": (c_int32, [c_void_p, c_uint32, c_uint32, c_size_t, POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double)]),
    "sinew_setup_create": (c_int32, [POINTER(c_void_p)]),
    "sinew_setup_from_json": (c_int32, [c_char_p, c_size_t, POINTER(c_void_p)]),
    "sinew_setup_open": (c_int32, [c_char_p, c_size_t, POINTER(c_void_p)]),
    "sinew_setup_automatic": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)]),
    "sinew_setup_free": (c_int32, [c_void_p]),
    "sinew_setup_to_json": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "sinew_setup_add_body": (c_int32, [c_void_p, c_char_p, c_size_t]),
    "sinew_setup_set_number": (c_int32, [c_void_p, c_char_p, c_size_t, c_double]),
    "sinew_setup_set_numbers": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_double), c_size_t]),
    "sinew_setup_set_keys": (c_int32, [c_void_p, c_char_p, c_size_t, c_int32, POINTER(c_double), POINTER(c_double), c_size_t]),
    "sinew_setup_set_text": (c_int32, [c_void_p, c_char_p, c_size_t, c_char_p, c_size_t]),
    "sinew_setup_set_json": (c_int32, [c_void_p, c_char_p, c_size_t, c_char_p, c_size_t]),
    "sinew_setup_remove": (c_int32, [c_void_p, c_char_p, c_size_t]),
    "sinew_setup_use_preset": (c_int32, [c_void_p, c_int32]),
    "sinew_setup_get_json": (c_int32, [c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, POINTER(c_size_t)]),
    "sinew_job_options_init": (c_int32, [POINTER(job_options), c_size_t]),
    "sinew_job_run": (c_int32, [c_void_p, c_void_p, POINTER(job_options), POINTER(callbacks), POINTER(c_void_p)]),
    "sinew_job_free": (c_int32, [c_void_p]),
    "sinew_job_status": (c_int32, [c_void_p, POINTER(c_int32)]),
    "sinew_job_report": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "sinew_job_curve_count": (c_int32, [c_void_p, POINTER(c_uint32)]),
    "sinew_job_curve_info": (c_int32, [c_void_p, c_uint32, POINTER(curve_info)]),
    "sinew_job_curve_read": (c_int32, [c_void_p, c_uint32, c_size_t, POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double)]),
    "sinew_job_frame_count": (c_int32, [c_void_p, POINTER(c_size_t)]),
    "sinew_job_body_count": (c_int32, [c_void_p, POINTER(c_uint32)]),
    "sinew_job_body_node": (c_int32, [c_void_p, c_uint32, POINTER(c_uint32)]),
    "sinew_job_times": (c_int32, [c_void_p, POINTER(c_double), c_size_t]),
    "sinew_job_poses": (c_int32, [c_void_p, POINTER(c_double), c_size_t]),
    "sinew_job_saturated": (c_int32, [c_void_p, POINTER(c_uint32), c_size_t]),
    "sinew_set_limits": (c_int32, [c_double, c_size_t]),
    "sinew_bake_request_init": (c_int32, [POINTER(bake_request), c_size_t]),
    "sinew_bake_file": (c_int32, [POINTER(bake_request), POINTER(callbacks), POINTER(c_void_p)]),
    "sinew_report_status": (c_int32, [c_void_p, POINTER(c_int32)]),
    "sinew_report_json": (c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "sinew_report_free": (c_int32, [c_void_p]),
    "sinew_session_create": (c_int32, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "sinew_session_free": (c_int32, [c_void_p]),
    "sinew_session_set": (c_int32, [c_void_p, c_uint32, c_int32, c_double]),
    "sinew_session_set_named": (c_int32, [c_void_p, c_uint32, c_char_p, c_size_t, c_double]),
    "sinew_session_step": (c_int32, [c_void_p, c_double]),
    "sinew_session_step_frame": (c_int32, [c_void_p]),
    "sinew_session_seek": (c_int32, [c_void_p, c_double]),
    "sinew_session_time": (c_int32, [c_void_p, POINTER(c_double)]),
    "sinew_session_range": (c_int32, [c_void_p, POINTER(c_double), POINTER(c_double), POINTER(c_double)]),
    "sinew_session_body_count": (c_int32, [c_void_p, POINTER(c_uint32)]),
    "sinew_session_body_node": (c_int32, [c_void_p, c_uint32, POINTER(c_uint32)]),
    "sinew_session_body_of_node": (c_int32, [c_void_p, c_uint32, POINTER(c_uint32)]),
    "sinew_session_poses": (c_int32, [c_void_p, POINTER(c_double), c_size_t]),
    "sinew_session_targets": (c_int32, [c_void_p, POINTER(c_double), c_size_t, POINTER(c_uint32), c_size_t]),
    "sinew_session_forces": (c_int32, [c_void_p, POINTER(c_double), c_size_t, POINTER(c_uint32), c_size_t]),
    "sinew_grip_init": (c_int32, [POINTER(grip), c_size_t]),
    "sinew_solver_init": (c_int32, [POINTER(solver), c_size_t]),
    "sinew_session_drag_begin": (c_int32, [c_void_p, c_uint32, POINTER(grip), POINTER(c_uint64)]),
    "sinew_session_drag_move": (c_int32, [c_void_p, c_uint64, POINTER(c_double), c_size_t]),
    "sinew_session_drag_end": (c_int32, [c_void_p, c_uint64]),
    "sinew_session_drag_pose": (c_int32, [c_void_p, c_uint64, POINTER(c_double), c_size_t, c_double, POINTER(c_double)]),
    "sinew_session_set_solver": (c_int32, [c_void_p, POINTER(solver)]),
    "sinew_session_contact_count": (c_int32, [c_void_p, POINTER(c_uint32)]),
    "sinew_session_contact_info": (c_int32, [c_void_p, c_uint32, POINTER(contact)]),
    "sinew_session_strike_count": (c_int32, [c_void_p, POINTER(c_uint32)]),
    "sinew_session_strike_info": (c_int32, [c_void_p, c_uint32, POINTER(strike)]),
    "sinew_job_contact_count": (c_int32, [c_void_p, c_size_t, POINTER(c_uint32)]),
    "sinew_job_contact_info": (c_int32, [c_void_p, c_size_t, c_uint32, POINTER(contact)]),
    "sinew_job_strike_count": (c_int32, [c_void_p, POINTER(c_uint32)]),
    "sinew_job_strike_info": (c_int32, [c_void_p, c_uint32, POINTER(strike)]),
    "sinew_session_outline": (c_int32, [c_void_p, c_uint32, POINTER(c_double), c_size_t, POINTER(c_size_t)]),
    "sinew_job_deformation_count": (c_int32, [c_void_p, POINTER(c_uint32)]),
    "sinew_job_deformation_info": (c_int32, [c_void_p, c_uint32, POINTER(deformation_info)]),
    "sinew_job_deformation_read": (c_int32, [c_void_p, c_uint32, POINTER(c_double), c_size_t, POINTER(c_double), c_size_t, POINTER(c_double), c_size_t]),
}
