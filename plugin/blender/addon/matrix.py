"""Transforms of many frames at once, as numpy arrays: quaternions are xyzw, matrices have frames first."""

import numpy as np

#: How far the columns of a matrix may be from square to each other before it counts as sheared.
SHEAR_MAX = 1e-4

#: Nodes of bones are turned by this about their own X. Sinew turns the frames of a host with Z up; with this, those of
#: bones end as they are in Blender and in glTF, Y along the bone, so a set-up fits either.
BONE = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]], dtype=float)
BONE_TURN = np.array([-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])


def decompose(matrices):
    """Translations, unit quaternions without jumps of sign, scales, and how sheared the worst matrix is."""
    linear = matrices[:, :3, :3]
    scale = np.linalg.norm(linear, axis=1)
    safe = np.where(scale > 1e-12, scale, 1.0)
    rotation = linear / safe[:, None, :]
    mirrored = np.linalg.det(rotation) < 0.0
    rotation = np.where(mirrored[:, None, None], -rotation, rotation)
    scale = np.where(mirrored[:, None], -scale, scale)
    dots = np.einsum("nij,nik->njk", rotation, rotation) - np.eye(3)
    shear = float(np.abs(dots).max(initial=0.0)) if np.all(scale != 0.0) else 1.0
    if shear > 1e-6:
        # The nearest rotation.
        u, _, vt = np.linalg.svd(rotation)
        rotation = u @ vt
    return matrices[:, :3, 3], continuous(quaternions(rotation)), scale, shear


def quaternions(rotations):
    """Unit quaternions of rotation matrices, by the largest of the four components."""
    m = rotations
    trace = m[:, 0, 0] + m[:, 1, 1] + m[:, 2, 2]
    parts = np.stack([m[:, 0, 0], m[:, 1, 1], m[:, 2, 2], trace], axis=1)
    largest = np.argmax(parts, axis=1)
    found = np.empty((len(m), 4))
    for axis in range(3):
        at = largest == axis
        if at.any():
            j, k = (axis + 1) % 3, (axis + 2) % 3
            part = m[at]
            found[at, axis] = 1.0 + part[:, axis, axis] - part[:, j, j] - part[:, k, k]
            found[at, j] = part[:, j, axis] + part[:, axis, j]
            found[at, k] = part[:, k, axis] + part[:, axis, k]
            found[at, 3] = part[:, k, j] - part[:, j, k]
    at = largest == 3
    if at.any():
        part = m[at]
        found[at, 0] = part[:, 2, 1] - part[:, 1, 2]
        found[at, 1] = part[:, 0, 2] - part[:, 2, 0]
        found[at, 2] = part[:, 1, 0] - part[:, 0, 1]
        found[at, 3] = 1.0 + trace[at]
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def continuous(rotations):
    """The same turns, each quaternion on the side of the one before."""
    turns = np.sum(rotations[1:] * rotations[:-1], axis=1) < 0.0
    signs = np.concatenate([[1.0], np.where(np.cumsum(turns) % 2, -1.0, 1.0)])
    return rotations * signs[:, None]


def product(a, b):
    """Quaternions a times b."""
    ax, ay, az, aw = np.moveaxis(np.asarray(a, dtype=float), -1, 0)
    bx, by, bz, bw = np.moveaxis(np.asarray(b, dtype=float), -1, 0)
    return np.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        axis=-1,
    )


def conjugate(q):
    return np.asarray(q, dtype=float) * (-1.0, -1.0, -1.0, 1.0)


def rotate(q, v):
    """Vectors v turned by one quaternion q."""
    vector = np.concatenate([v, np.zeros(v.shape[:-1] + (1,))], axis=-1)
    return product(product(q, vector), conjugate(q))[..., :3]


def two_steps(matrix):
    """Any matrix as two transforms, one inside the other: scale along turned axes, then a turn.

    A transform of translation, rotation and scale has no shear; two of them make any matrix (singular values).
    """
    u, sizes, vt = np.linalg.svd(matrix[:3, :3])
    if np.linalg.det(u) < 0.0:
        u[:, 2], sizes[2] = -u[:, 2], -sizes[2]
    if np.linalg.det(vt) < 0.0:
        vt[2], sizes[2] = -vt[2], -sizes[2]
    outer = (matrix[:3, 3], quaternions(u[None])[0], sizes)
    inner = (np.zeros(3), quaternions(vt[None])[0], np.ones(3))
    return outer, inner


def is_plain(matrix):
    """Whether one transform of translation, rotation and scale makes this matrix."""
    return decompose(matrix[None])[3] < 1e-6
