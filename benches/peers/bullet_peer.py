"""PyBullet on the neutral scenes: bullet_peer.py SCENES OUT.json [WORDS]. Trees of at most 100 links are multibodies
(the library takes 127), everything else is point-to-point constraints."""
import math
import numpy as np
import pybullet as bullet
from scene import EARLY_S, LINKS, SCALARS, Rows, back, chosen, least, load, opening, pile, shaken, times, turn

rows = Rows()
bullet.connect(bullet.DIRECT)


def xyzw(q):
    return [q[1], q[2], q[3], q[0]]


def fresh(scene, dt, iterations=None):
    bullet.resetSimulation()
    bullet.setGravity(*scene["gravity"])
    bullet.setTimeStep(dt)
    if iterations:
        bullet.setPhysicsEngineParameter(numSolverIterations=iterations)


def multibody(scene):
    """A chain hung from the world: link frames are at the joint, with the body's axes."""
    bodies, joints = scene["bodies"], scene["joints"]
    kinds = {"ball": bullet.JOINT_SPHERICAL, "hinge": bullet.JOINT_REVOLUTE}
    position, rotation, at, around = np.zeros(3), np.array([1.0, 0, 0, 0]), [], []
    for body, joint in zip(bodies, joints):
        q = np.array(body["quat"])
        p = np.array(body["pos"]) + turn(q, joint["anchor_b"])
        at.append(list(turn(back(rotation), p - position)))
        around.append(xyzw(times(back(rotation), q)))
        position, rotation = p, q
    n = len(bodies)
    chain = bullet.createMultiBody(
        0, -1, -1, [0, 0, 0], [0, 0, 0, 1], linkMasses=[b["mass"] for b in bodies],
        linkCollisionShapeIndices=[-1] * n, linkVisualShapeIndices=[-1] * n, linkPositions=at, linkOrientations=around,
        linkInertialFramePositions=[list(-np.array(j["anchor_b"])) for j in joints],
        linkInertialFrameOrientations=[[0, 0, 0, 1]] * n, linkParentIndices=list(range(n)),
        linkJointTypes=[kinds[j["type"]] for j in joints], linkJointAxis=[j["axis"] for j in joints])
    for k, (body, joint) in enumerate(zip(bodies, joints)):
        bullet.changeDynamics(chain, k, localInertiaDiagonal=body["inertia"], linearDamping=0, angularDamping=0,
                              jointDamping=0)
        # Joints come with motors; take them away.
        if joint["type"] == "ball":
            bullet.setJointMotorControlMultiDof(chain, k, bullet.POSITION_CONTROL, targetPosition=[0, 0, 0, 1],
                                                positionGain=0, velocityGain=0, force=[0, 0, 0])
        else:
            bullet.setJointMotorControl2(chain, k, bullet.VELOCITY_CONTROL, force=0)
    return chain


def pointwise(scene, keyed):
    """Bodies apart, held by points; body 0 is moved from outside if it is keyed."""
    made = []
    for i, body in enumerate(scene["bodies"]):
        moved = keyed and i == 0
        made.append(bullet.createMultiBody(0 if moved else body["mass"], -1, -1, body["pos"], xyzw(body["quat"])))
        if not moved:
            bullet.changeDynamics(made[-1], -1, localInertiaDiagonal=body["inertia"], linearDamping=0, angularDamping=0,
                                  activationState=bullet.ACTIVATION_STATE_DISABLE_SLEEPING)
    for j in scene["joints"]:
        bullet.createConstraint(made[j["a"]], -1, made[j["b"]], -1, bullet.JOINT_POINT2POINT, [0, 0, 0], j["anchor_a"],
                                j["anchor_b"])
    return made


def steps(count):
    for _ in range(count):
        bullet.stepSimulation()


def chain(kind, links):
    scene = load("chain_%s_%d" % (kind, links))
    tip = [None]

    def begin():
        fresh(scene, scene["dt"])
        return multibody(scene)

    def look(done, world):
        if done == 10:
            tip[0] = np.array(bullet.getLinkState(world, links - 1, computeForwardKinematics=1)[0])

    seconds = least(20, begin, lambda world, _: steps(12), look)
    finite = tip[0] is not None and bool(np.isfinite(tip[0]).all())
    rows.add(scene["name"], "Bullet, multibody", ms=seconds.mean() * 1e3 / 12, opening=0.0,
             tip=tip[0] if finite else None, blew_up=not finite)


def shake(name, label, frames, substeps, iterations):
    scene = load(name)
    dt = scene["dt"] / substeps
    largest, early = [0.0], [None]
    still = xyzw(scene["bodies"][0]["quat"])

    def begin():
        fresh(scene, dt, iterations)
        return pointwise(scene, True)

    def part(world, frame):
        for k in range(substeps):
            at = shaken(scene, (frame * substeps + k) * dt)[0]
            velocity = (shaken(scene, (frame * substeps + k + 1) * dt)[0] - at) / dt
            bullet.resetBasePositionAndOrientation(world[0], at, still)
            bullet.resetBaseVelocity(world[0], velocity, [0, 0, 0])
            bullet.stepSimulation()

    def look(done, world):
        poses = [bullet.getBasePositionAndOrientation(b) for b in world]
        poses[0] = (shaken(scene, done * scene["dt"])[0], still)
        if done == round(EARLY_S / scene["dt"]):
            early[0] = poses[-1][0]
        left = opening(scene, [p for p, _ in poses], [[q[3], *q[:3]] for _, q in poses])
        largest[0] = max(largest[0], left) if math.isfinite(left) else math.inf

    seconds = least(frames, begin, part, look)
    by = ", %d steps" % substeps if substeps > 1 else ""
    rows.add(label, "Bullet, %d iterations%s" % (iterations, by), ms=seconds.mean() * 1e3,
             worst_ms=seconds.max() * 1e3, opening=largest[0], early=early[0])


def heap(iterations):
    scene = load("pile")
    # Bullet multiplies the frictions of the two.
    rubs = dict(lateralFriction=math.sqrt(scene["friction"]), restitution=0)

    def shaped(shape):
        if shape["type"] == "ball":
            return bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=shape["radius"])
        return bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=shape["half"])

    def begin():
        fresh(scene, scene["dt"], iterations)
        for wall in scene["walls"]:
            shape = shaped(dict(type="box", half=wall["half"]))
            bullet.changeDynamics(bullet.createMultiBody(0, shape, -1, wall["pos"]), -1, **rubs)
        made, shapes = [], {}
        for body in scene["bodies"]:
            kind = body["shape"]["type"]
            if kind not in shapes:
                shapes[kind] = shaped(body["shape"])
            made.append(bullet.createMultiBody(body["mass"], shapes[kind], -1, body["pos"], xyzw(body["quat"]),
                                               useMaximalCoordinates=1))
            # Without the mass, bodies of this kind would lose it to the inertia.
            bullet.changeDynamics(made[-1], -1, mass=body["mass"], localInertiaDiagonal=body["inertia"],
                                  linearDamping=0, angularDamping=0, **rubs)
        return made

    def places(world):
        poses = [bullet.getBasePositionAndOrientation(b) for b in world]
        return np.array([p for p, _ in poses]), np.array([[q[3], *q[:3]] for _, q in poses])

    pile(rows, "Bullet, %d iterations" % iterations, scene, begin, lambda world: bullet.stepSimulation(), places)


for kind in ("hinge", "ball"):
    for links in LINKS:
        if chosen("chains") and links <= 100:
            chain(kind, links)
for scalars in SCALARS:
    if chosen("shake"):
        shake("net_%d" % scalars, "shake_net_%d" % scalars, 600, 1, 50)
for links in (9, 100):
    if chosen("swung"):
        shake("swung_%d" % links, "swung_%d" % links, 250, 10, 10)
if chosen("pile"):
    heap(50)
