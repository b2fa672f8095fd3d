"""MuJoCo on the neutral scenes: mujoco_peer.py SCENES OUT.json [WORDS]. Trees in joint coordinates, loops as
`connect`."""
import os
import sys

import mujoco
import numpy as np
from mujoco import mjtGeom, mjtJoint
from scipy.linalg import cho_factor, cho_solve
from scene import EARLY_S, LINKS, SCALARS, Rows, back, best, chosen, least, load, opening, pile, shaken, times, turn

PEER = "MuJoCo"
NOTES_PER_SECOND = 30  # of figures, about: after so many whole steps as make that
rows = Rows()


def build(scene, tree=True, keyed=False, perturbed=False, dt=None, still=False, energy=False, stiff=False):
    """`tree`: joints of the spanning tree are coordinates; else every body floats and all joints are `connect`."""
    spec = mujoco.MjSpec()
    option = spec.option
    option.timestep = dt or scene["dt"]
    option.gravity = [0, 0, 0] if still else scene["gravity"]
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    if energy:
        option.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    spec.memory = 1 << 30
    bodies, count = scene["bodies"], len(scene["bodies"])
    source = scene["perturbed"] if perturbed else bodies
    parent = {j["b"]: j for j in scene["joints"] if tree and j["tree"]}
    made, pending = {}, list(range(count))
    while pending:
        i = pending.pop(0)
        joint = parent.get(i)
        if joint and joint["a"] >= 0 and joint["a"] not in made:
            pending.append(i)
            continue
        above, p, q = spec.worldbody, np.array(source[i]["pos"]), np.array(source[i]["quat"])
        if joint and joint["a"] >= 0:
            a = joint["a"]
            above, pa, qa = made[a], np.array(source[a]["pos"]), np.array(source[a]["quat"])
            p, q = turn(back(qa), p - pa), times(back(qa), q)
        moved = keyed and i == 0
        # Without ipos the centre of mass would silently be at pos.
        made[i] = above.add_body(name="b%d" % i, pos=p, quat=q, mass=bodies[i]["mass"], inertia=bodies[i]["inertia"],
                                 explicitinertial=True, ipos=[0, 0, 0], iquat=[1, 0, 0, 0], mocap=moved)
        if joint:
            kind = mjtJoint.mjJNT_BALL if joint["type"] == "ball" else mjtJoint.mjJNT_HINGE
            made[i].add_joint(name="j%d" % i, type=kind, pos=joint["anchor_b"], axis=joint["axis"])
        elif not moved:
            made[i].add_freejoint(name="f%d" % i)
    loops = [j for j in scene["joints"] if not (tree and j["tree"])]
    for k, j in enumerate(loops):
        connect = spec.add_equality(name="e%d" % k, type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_BODY,
                                    name1="b%d" % j["b"], name2="b%d" % j["a"] if j["a"] >= 0 else "",
                                    data=list(j["anchor_b"]) + [0] * 9)
        if stiff:  # the stiffest that the documentation allows
            connect.solref = [2 * option.timestep, 1.0]
    model = spec.compile()
    # Compiling takes the second place from the pose, which may be open.
    for k, j in enumerate(loops):
        model.eq_data[k, 0:3], model.eq_data[k, 3:6] = j["anchor_b"], j["anchor_a"]
    return model


def poses(model, data, count):
    ids = [model.body("b%d" % i).id for i in range(count)]
    return data.xpos[ids], data.xquat[ids]


def chain(kind, links):
    scene = load("chain_%s_%d" % (kind, links))
    model = build(scene)
    tip = [None]

    def look(done, data):
        if done == 10:
            mujoco.mj_kinematics(model, data)
            tip[0] = data.body("b%d" % (links - 1)).xpos.copy()

    seconds = least(20, lambda: mujoco.MjData(model), lambda data, _: mujoco.mj_step(model, data, 12), look)
    rows.add(scene["name"], PEER, ms=seconds.mean() * 1e3 / 12, opening=0.0, tip=tip[0])


def energy():
    scene = load("chain_ball_10")
    model = build(scene, energy=True)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    start, most, end = data.energy.sum(), 0.0, 0.0
    for _ in range(2400):
        mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        end = (data.energy.sum() - start) / scene["energy_scale"]
        most = end if abs(end) > abs(most) else most
    rows.add("energy", PEER, drift=most, drift_end=end)


def assemble(scalars):
    """Gauss-Newton on MuJoCo's own quantities: dq = M^-1 J^T (J M^-1 J^T)^-1 (-error), every body floats."""
    scene = load("net_%d" % scalars)
    model = build(scene, tree=False, perturbed=True, still=True)
    data = mujoco.MjData(model)
    rounds = [0]

    def run():
        mujoco.mj_resetData(model, data)
        rounds[0] = 0
        while rounds[0] < 50:
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            (mujoco.mj_makeM if hasattr(mujoco, "mj_makeM") else mujoco.mj_crb)(model, data)
            mujoco.mj_factorM(model, data)
            mujoco.mj_makeConstraint(model, data)
            error = data.efc_pos[:data.nefc].copy()
            if np.abs(error).max() < 1e-6:
                return
            if mujoco.mj_isSparse(model):
                J = np.zeros((data.nefc, model.nv))
                mujoco.mju_sparse2dense(J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
            else:
                J = data.efc_J.reshape(data.nefc, model.nv).copy()
            Y = np.zeros_like(J)
            mujoco.mj_solveM(model, data, Y, J)
            A = J @ Y.T
            A[np.diag_indices(len(A))] += 1e-12
            mujoco.mj_integratePos(model, data.qpos, Y.T @ cho_solve(cho_factor(A), -error), 1.0)
            rounds[0] += 1

    seconds = best(run)
    left = opening(scene, *poses(model, data, len(scene["bodies"])))
    rows.add("assemble_net_%d" % scalars, "MuJoCo, Gauss-Newton", ms=seconds * 1e3, rounds=rounds[0], opening=left,
             ok=bool(left < 2e-6))


def shake(scalars, substeps):
    """Every body floats: with the tree in coordinates and its loops connected, MuJoCo flies apart here."""
    scene = load("net_%d" % scalars)
    dt = scene["dt"] / substeps
    model = build(scene, tree=False, keyed=True, dt=dt, stiff=True)
    largest, early = [0.0], [None]

    def part(data, frame):
        for k in range(substeps):
            data.mocap_pos[0] = shaken(scene, (frame * substeps + k + 1) * dt)[0]
            mujoco.mj_step(model, data)

    def look(done, data):
        mujoco.mj_kinematics(model, data)
        placed = poses(model, data, len(scene["bodies"]))
        largest[0] = max(largest[0], opening(scene, *placed))
        if done == round(EARLY_S / scene["dt"]):
            early[0] = placed[0][-1].copy()

    seconds = least(600, lambda: mujoco.MjData(model), part, look)
    rows.add("shake_net_%d" % scalars, "MuJoCo, %d steps" % substeps, ms=seconds.mean() * 1e3,
             worst_ms=seconds.max() * 1e3, opening=largest[0], early=early[0])


def swung(links, substeps):
    """In the frame of the block, which stands still there while gravity sways: a keyed body would carry the chain along
    without any force on it."""
    scene = load("swung_%d" % links)
    dt = scene["dt"] / substeps
    model = build(scene, keyed=True, dt=dt)

    def part(data, frame):
        for k in range(substeps):
            model.opt.gravity[:] = np.array(scene["gravity"]) - shaken(scene, (frame * substeps + k + 0.5) * dt)[1]
            mujoco.mj_step(model, data)

    unstable, early = [False], [None]

    def look(done, data):
        unstable[0] |= bool(data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number)
        if done == round(EARLY_S / scene["dt"]):
            mujoco.mj_kinematics(model, data)
            moved = shaken(scene, EARLY_S)[0] - np.array(scene["bodies"][0]["pos"])
            early[0] = data.body("b%d" % links).xpos + moved

    seconds = least(250, lambda: mujoco.MjData(model), part, look)
    rows.add(scene["name"], "MuJoCo, %d steps" % substeps, ms=seconds.mean() * 1e3, worst_ms=seconds.max() * 1e3,
             opening=0.0, blew_up=unstable[0], early=early[0])


def heap(iterations):
    """Conjugate gradients: Newton's method takes many times as long here."""
    scene = load("pile")
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = scene["dt"], scene["gravity"]
    spec.option.solver, spec.option.iterations = mujoco.mjtSolver.mjSOL_CG, iterations
    spec.memory = 3 << 30
    friction = [scene["friction"], 0.005, 0.0001]  # the others are the defaults
    for wall in scene["walls"]:
        spec.worldbody.add_geom(type=mjtGeom.mjGEOM_BOX, pos=wall["pos"], size=wall["half"], friction=friction)
    for i, body in enumerate(scene["bodies"]):
        made = spec.worldbody.add_body(name="b%d" % i, pos=body["pos"], quat=body["quat"], mass=body["mass"],
                                       inertia=body["inertia"], explicitinertial=True, ipos=[0, 0, 0],
                                       iquat=[1, 0, 0, 0])
        made.add_freejoint(name="f%d" % i)
        shape = body["shape"]
        ball = shape["type"] == "ball"
        made.add_geom(type=mjtGeom.mjGEOM_SPHERE if ball else mjtGeom.mjGEOM_BOX, friction=friction,
                      size=[shape["radius"], 0, 0] if ball else shape["half"])
    model = spec.compile()

    def places(data):
        free = data.qpos.reshape(-1, 7)
        return free[:, :3], free[:, 3:]

    pile(rows, "MuJoCo, CG, %d iterations" % iterations, scene, lambda: mujoco.MjData(model),
         lambda data: mujoco.mj_step(model, data), places)


def figures(copies, rate, firm=False):
    """Figures that move and fall, at so many steps a second, timed and noted about thirty times a second. `firm`: as deep in the
    floor as these steps allow, found by trying: springs of 1.2 steps, which the default would make 2, and hardly soft."""
    scene = load("figure_%d" % copies)
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = 1 / rate, scene["gravity"]
    spec.memory = 3 << 30
    friction = [scene["friction"], 0.005, 0.0001]  # the others are the defaults
    floor = spec.worldbody.add_geom(type=mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=friction, contype=1, conaffinity=2)
    if firm:
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_REFSAFE
        floor.priority, floor.solref, floor.solimp = 1, [1.2 / rate, 1], [0.9999, 0.9999, 0.001, 0.5, 2]
    bodies, above = scene["bodies"], {j["b"]: j for j in scene["joints"]}
    made = []  # parents stand before their children
    for i, body in enumerate(bodies):
        p, q, parent, joint = np.array(body["pos"]), np.array(body["quat"]), spec.worldbody, above.get(i)
        if joint:
            other = bodies[joint["a"]]
            turned = back(np.array(other["quat"]))
            parent, p, q = made[joint["a"]], turn(turned, p - np.array(other["pos"])), times(turned, q)
        made.append(parent.add_body(name="b%d" % i, pos=p, quat=q, mass=body["mass"], inertia=body["inertia"],
                                    explicitinertial=True, ipos=[0, 0, 0], iquat=[1, 0, 0, 0]))
        shape = body["shape"]
        made[i].add_geom(type=mjtGeom.mjGEOM_CAPSULE, size=[shape["radius"], shape["half"], 0], friction=friction,
                         quat=[0.5**0.5, 0.5**0.5, 0, 0], contype=2, conaffinity=1)  # along y
        if not joint:
            made[i].add_freejoint(name="f%d" % i)
            continue
        motor = joint["motor"]
        ball = made[i].add_joint(name="j%d" % i, type=mjtJoint.mjJNT_BALL, pos=joint["anchor_b"])
        ball.damping = [motor["damping"], 0, 0]
        for axis in range(3):
            gear = [0] * 6
            gear[axis] = 1
            spec.add_actuator(name="m%d_%d" % (i, axis), trntype=mujoco.mjtTrn.mjTRN_JOINT, target="j%d" % i, gear=gear,
                              gaintype=mujoco.mjtGain.mjGAIN_FIXED, biastype=mujoco.mjtBias.mjBIAS_AFFINE,
                              gainprm=[motor["stiffness"]] + [0] * 9, biasprm=[0, -motor["stiffness"], 0] + [0] * 7)
    model = spec.compile()
    part, count = max(rate // NOTES_PER_SECOND, 1), round(scene["seconds"] * rate)
    motors = [j["motor"] for j in scene["joints"]]
    wave = [m["amplitude"] * np.sin(2 * np.pi * np.arange(1, count + 1) / rate + m["phase"]) for m in motors]
    # Made before, since arithmetic in Python would take as long as the steps.
    controls = np.hstack([w[:, None] * np.array(m["axis"]) for w, m in zip(wave, motors)])
    ids = [model.body("b%d" % i).id for i in range(len(bodies))]
    frames, unstable = [], [False]

    def steps(data, frame):
        for k in range(frame * part, (frame + 1) * part):
            data.ctrl[:] = controls[k]
            mujoco.mj_step(model, data)

    def look(done, data):
        mujoco.mj_kinematics(model, data)
        frames.append(np.hstack((data.xpos[ids], data.xquat[ids])))
        unstable[0] |= bool(data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number)

    seconds = least(count // part, lambda: mujoco.MjData(model), steps, look)
    name = "mujoco_figure_%d_%d%s.poses" % (copies, rate, "_firm" if firm else "")
    np.array(frames, "<f8").tofile(os.path.join(os.path.dirname(sys.argv[2]), name))
    ms = seconds.mean() * 1e3 / part
    rows.add("%s_%d" % (scene["name"], rate), PEER + ", firm" if firm else PEER, ms=ms, second_ms=ms * rate / copies,
             worst_ms=seconds.max() * 1e3 / part, poses=name, blew_up=unstable[0])


for kind in ("hinge", "ball"):
    for links in LINKS:
        if chosen("chains") and (kind == "hinge" or links <= 300):  # 1000 balls take seconds per step
            chain(kind, links)
if chosen("energy"):
    energy()
for scalars in SCALARS:
    if chosen("assembly"):
        assemble(scalars)
    if chosen("shake"):
        shake(scalars, 4)
        shake(scalars, 10)
for links in (9, 100):
    if chosen("swung"):
        swung(links, 10)
if chosen("pile"):
    heap(20)
for copies in (1, 16, 64):
    if chosen("figures"):
        for rate in load("figure_%d" % copies)["rates"]:
            figures(copies, rate)
            if copies == 1:
                figures(copies, rate, firm=True)
