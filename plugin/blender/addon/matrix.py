"""Transforms of many frames at once, as numpy arrays: quaternions are xyzw, matrices have frames first."""

import numpy as np

#: How far the columns of a matrix may be from square to each other before it counts as sheared.
SHEAR_MAX = 1e-4

#: Nodes of bones are turned by this about their own X. Sinew turns the frames of a host with Z up; with this, those of
#: bones end as they are in Blender and in glTF, Y along the bone, so a set-up fits either.
BONE = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]], dtype=float)
BONE_TURN = np.array([-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])


def signs(scale):
    """-1 for every number below 0, else 1."""
    return tuple(-1.0 if part < 0.0 else 1.0 for part in scale)


def decompose(matrices, mirrored=None):
    """Translations, unit quaternions without jumps of sign, scales, and how sheared the worst matrix is; `mirrored` are the signs
    that their scales have."""
    t, q, s, shear = decompose_each(matrices, None if mirrored is None else np.tile(mirrored, (len(matrices), 1)))
    return t, continuous(q), s, float(shear.max(initial=0.0))


def decompose_each(matrices, signs=None):
    """The same of matrices that have nothing to do with each other, with the shear of each; `signs` are those of each scale.

    A matrix does not tell a mirror along one axis from one along another and a turn: where no sign fits, all axes are mirrored.
    """
    linear = matrices[:, :3, :3]
    scale = np.sqrt(np.einsum("nij,nij->nj", linear, linear))
    rotation = linear / np.where(scale > 1e-12, scale, 1.0)[:, None, :]
    mirrored = np.einsum("ni,ni->n", rotation[:, :, 0], _cross(rotation[:, :, 1], rotation[:, :, 2])) < 0.0
    if mirrored.any() or signs is not None and (signs < 0.0).any():
        wanted = np.where(mirrored[:, None], -1.0, np.ones(3))
        if signs is not None:
            fits = (np.prod(signs, axis=1) < 0.0) == mirrored
            wanted = np.where(fits[:, None], signs, wanted)
        rotation, scale = rotation * wanted[:, None, :], scale * wanted
    dots = np.abs(np.einsum("nij,nik->njk", rotation, rotation) - np.eye(3)).reshape(-1, 9).max(axis=1)
    shear = np.where((scale != 0.0).all(axis=1), dots, 1.0)
    skew = shear > 1e-6
    if skew.any():
        # The nearest rotation.
        u, _, vt = np.linalg.svd(rotation[skew])
        rotation[skew] = u @ vt
    return matrices[:, :3, 3], quaternions(rotation), scale, shear


def _cross(a, b):
    return a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]


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
    """The same turns, each quaternion on the side of the one before. Frames are the last axis but one."""
    turns = np.einsum("...ni,...ni->...n", rotations[..., 1:, :], rotations[..., :-1, :]) < 0.0
    if not turns.any():
        return rotations
    signs = np.ones(rotations.shape[:-1])
    signs[..., 1:] = np.where(np.cumsum(turns, axis=-1) % 2, -1.0, 1.0)
    return rotations * signs[..., None]


def product(a, b):
    """Quaternions a times b."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    ax, ay, az, aw = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bx, by, bz, bw = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    found = np.empty(np.broadcast_shapes(a.shape, b.shape))
    found[..., 0] = aw * bx + ax * bw + ay * bz - az * by
    found[..., 1] = aw * by - ax * bz + ay * bw + az * bx
    found[..., 2] = aw * bz + ax * by - ay * bx + az * bw
    found[..., 3] = aw * bw - ax * bx - ay * by - az * bz
    return found


def between(left, right):
    """The matrix that makes left q right of the numbers of q: many quaternions between the same two, at once."""
    return np.array([product(product(left, unit), right) for unit in np.eye(4)]).T


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
