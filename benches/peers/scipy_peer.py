"""SciPy on the neutral scenes: scipy_peer.py SCENES OUT.json [WORDS].

Nets are put together by Faure's iteration, dq = M^-1 J^T (J M^-1 J^T)^-1 (-error), with SuperLU. Chains are not timed
but integrated very finely (Runge-Kutta, banded solves, ball joints: hinges in a plane need no more), which says where
the last link really is after half a second."""
import numpy as np
import scipy.linalg as dense
import scipy.sparse as sparse
import scipy.sparse.linalg as solve
from scene import LINKS, SCALARS, Rows, best, chosen, exp, load, matrices, times

rows = Rows()


def skew(v):
    x, y, z = np.moveaxis(np.asarray(v, float), -1, 0)
    o = np.zeros_like(x)
    return np.moveaxis(np.array([[o, -z, y], [z, o, -x], [-y, x, o]]), (0, 1), (-2, -1))


def assemble(scene):
    bodies, joints = scene["bodies"], scene["joints"]
    n, m = len(bodies), len(joints)
    P = np.array([b["pos"] for b in scene["perturbed"]])
    Q = np.array([b["quat"] for b in scene["perturbed"]])
    A, B = (np.array([j[k] for j in joints]) for k in ("a", "b"))
    at_a, at_b = (np.array([j[k] for j in joints]) for k in ("anchor_a", "anchor_b"))
    per_mass = np.array([1 / b["mass"] for b in bodies])
    per_inertia = np.array([1 / np.array(b["inertia"]) for b in bodies])
    row = np.broadcast_to(np.arange(3 * m).reshape(m, 3, 1), (m, 3, 6))
    column = [np.broadcast_to((6 * side)[:, None, None] + np.arange(6), (m, 3, 6)) for side in (A, B)]
    blocks = (6 * np.arange(n))[:, None, None]
    weight_row = np.broadcast_to(blocks + np.arange(6)[:, None], (n, 6, 6)).ravel()
    weight_column = np.broadcast_to(blocks + np.arange(6), (n, 6, 6)).ravel()
    eye = np.broadcast_to(np.eye(3), (m, 3, 3))
    rounds = 0
    while True:
        R = matrices(Q)
        ra, rb = np.einsum("nij,nj->ni", R[A], at_a), np.einsum("nij,nj->ni", R[B], at_b)
        error = P[B] + rb - P[A] - ra
        largest = np.linalg.norm(error, axis=1).max()
        if largest < 1e-6 or rounds >= 60:
            return rounds, largest
        values = [np.concatenate([-eye, skew(ra)], 2), np.concatenate([eye, -skew(rb)], 2)]
        J = sparse.csr_matrix((np.concatenate([v.ravel() for v in values]),
                               (np.concatenate([row.ravel()] * 2), np.concatenate([c.ravel() for c in column]))),
                              shape=(3 * m, 6 * n))
        block = np.zeros((n, 6, 6))
        block[:, :3, :3] = per_mass[:, None, None] * np.eye(3)
        block[:, 3:, 3:] = np.einsum("nij,nj,nkj->nik", R, per_inertia, R)
        W = sparse.csr_matrix((block.ravel(), (weight_row, weight_column)), shape=(6 * n, 6 * n))
        push = W @ (J.T @ solve.spsolve((J @ W @ J.T).tocsc(), -error.ravel()))
        push = push.reshape(n, 6)
        P = P + push[:, :3]
        Q = np.array([times(exp(turned), q) for turned, q in zip(push[:, 3:], Q)])
        rounds += 1


def tip(scene, substeps):
    """Where the last link is after half a second."""
    bodies, n = scene["bodies"], len(scene["bodies"])
    mass = np.array([b["mass"] for b in bodies])
    inertia = np.array([b["inertia"] for b in bodies])
    above = np.array([j["anchor_b"] for j in scene["joints"]])
    below = np.array([j["anchor_a"] for j in scene["joints"][1:]])
    gravity = np.array(scene["gravity"])
    h = scene["dt"] / substeps

    def rates(P, Q, V, S):
        """Rates of positions, rotations, velocities and spins (world axes); the joints' accelerations are zero."""
        R = matrices(Q)
        local = np.einsum("nji,nj->ni", R, S)
        twist = np.einsum("nij,nj->ni", R, -np.cross(local, inertia * local) / inertia)
        per = np.einsum("nij,nj,nkj->nik", R, 1 / inertia, R)
        up = np.einsum("nij,nj->ni", R, above)
        down = np.einsum("nij,nj->ni", R[:-1], below)
        free_up = gravity + np.cross(twist, up) + np.cross(S, np.cross(S, up))
        free_down = gravity + np.cross(twist[:-1], down) + np.cross(S[:-1], np.cross(S[:-1], down))
        opens = free_up.copy()
        opens[1:] -= free_down
        K, D = skew(up), skew(down)
        eye = np.eye(3)
        diagonal = eye / mass[:, None, None] - K @ per @ K
        diagonal[1:] += eye / mass[:-1, None, None] - D @ per[:-1] @ D
        coupling = -(eye / mass[:-1, None, None] - D @ per[:-1] @ K[:-1])  # joint k + 1 with joint k
        band = np.zeros((6, 3 * n))  # lower form: band[i - j, j]
        for c in range(3):
            for r in range(c, 3):
                band[r - c, c::3] = diagonal[:, r, c]
            for r in range(3):
                band[3 + r - c, c:3 * (n - 1):3] = coupling[:, r, c]
        force = -dense.solveh_banded(band, opens.ravel(), lower=True, check_finite=False).reshape(n, 3)
        total, torque = force.copy(), np.cross(up, force)
        total[:-1] -= force[1:]
        torque[:-1] -= np.cross(down, force[1:])
        w, v = Q[:, :1], Q[:, 1:]
        spun = 0.5 * np.concatenate([-(S * v).sum(1, keepdims=True), w * S + np.cross(S, v)], 1)
        return V, spun, gravity + total / mass[:, None], twist + np.einsum("nij,nj->ni", per, torque)

    y = [np.array([b["pos"] for b in bodies]), np.array([b["quat"] for b in bodies]), np.zeros((n, 3)), np.zeros((n, 3))]
    along = lambda y, k, s: [a + s * b for a, b in zip(y, k)]
    for _ in range(round(0.5 / h)):
        k1 = rates(*y)
        k2 = rates(*along(y, k1, h / 2))
        k3 = rates(*along(y, k2, h / 2))
        k4 = rates(*along(y, k3, h))
        y = [a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4)]
        y[1] /= np.linalg.norm(y[1], axis=1, keepdims=True)
    return y[0][-1]


for scalars in SCALARS if chosen("assembly") else ():
    scene = load("net_%d" % scalars)
    rounds, left = assemble(scene)
    seconds = best(lambda: assemble(scene))
    rows.add("assemble_net_%d" % scalars, "SciPy", ms=seconds * 1e3, rounds=rounds, opening=left, ok=bool(left < 1e-6))
for kind in ("hinge", "ball") if chosen("chains") else ():
    for links in LINKS:
        scene = load("chain_%s_%d" % (kind, links))
        coarse, fine = tip(scene, 6), tip(scene, 12)
        rows.add(scene["name"], "reference", tip=fine, uncertain=float(np.linalg.norm(fine - coarse)))
