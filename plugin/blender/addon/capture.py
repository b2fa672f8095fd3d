"""Reads what Blender shows, frame by frame, into a scene of Sinew: objects, bones, meshes, skins, evaluated motion.

Everything is kept by name and as numbers, so that nothing here can dangle when the file changes under a running job.
An object is a node whose motion is relative to its parent as its own channels are: where Blender has an offset in
between (the parent's inverse, a bone's length) there are nodes for it, so what comes back fits the channels as it is.
"""

import bpy
import numpy as np
from mathutils import Matrix

from . import action, controls, matrix, mesh, own_joints, plain
from .playing import go_to, is_drawn
from .sinew import Scene

#: Changes below this (scene units, quaternion parts, factors) are rounding of single precision.
STILL = 2e-6
#: So many matrices are taken apart at once: a few milliseconds' worth.
MATRICES = 5_000


class Node:
    """A node of the scene, and where it comes from."""

    def __init__(self, name, owner, bone=None, parent=None):
        self.name = name
        #: Name of the object.
        self.owner = owner
        #: Name of the bone, for bones.
        self.bone = bone
        #: The node above, or None.
        self.parent = parent
        #: Constant matrix between the parent's node and the channels.
        self.offset = None
        #: Index in Sinew's scene.
        self.index = None
        #: Whether its result is wanted.
        self.simulated = False
        #: Whether anything moves it, and whether it has keys or the like that may.
        self.moves = False
        self.keyed = False
        self.has_mesh = False
        #: Whether it is a bone that a skin follows; controls and helpers are not.
        self.deforms = False
        #: Along which of its own axes it is mirrored, -1 or 1 for each: its scale says it, which stays as it is.
        self.signs = (1.0, 1.0, 1.0)
        #: World matrices, frames first.
        self.world = None
        #: Translations, quaternions, scales relative to the parent and the offset, and which of the three stay.
        self.local = None
        self.stays = (True, True, True)


class Capture:
    """One reading of a Blender scene."""

    def __init__(self, context, first, last, selected_only=False):
        scene = context.scene
        self.scene_name = scene.name
        self.first, self.last = int(first), int(last)
        if self.last <= self.first:
            raise ValueError(f"frames {self.first} to {self.last} are no range; the last must come after the first")
        self.frames = np.arange(self.first, self.last + 1)
        self.rate = scene.render.fps / scene.render.fps_base
        self.unit = scene.unit_settings.scale_length or 1.0
        self.own_unit = scene.sinew.unit == "scene" or self.unit != 1.0
        self.gravity = tuple(scene.gravity) if scene.use_gravity else (0.0, 0.0, 0.0)
        self.warnings = []
        self.nodes = []
        #: Nodes by (object, bone or None).
        self.by_source = {}
        #: Armatures: names of bones in the order of the pose.
        self.bones = {}
        #: Skinned meshes: object to armature.
        self.skins = {}
        #: Empties with rigid-body constraints.
        self.joints = []
        #: Values that the writer needs: rotations at the first frame.
        self.eulers = {}
        #: Whether Blender draws every frame that is read.
        self.is_drawn = False
        #: What the writer found about bones at rest, for the next time: see `Writer`.
        self.rests = {}
        self._plan(context, selected_only)

    def _plan(self, context, selected_only):
        selected = [o for o in context.selected_objects if o.rigid_body_constraint is None]
        if context.object is not None and context.object.mode == "POSE" and context.object not in selected:
            selected.append(context.object)
        wanted = list(selected)
        for obj in selected:
            armature = mesh.armature_of(obj)
            if armature is not None and armature not in wanted:
                wanted.append(armature)
        if not wanted:
            raise ValueError("nothing is selected; select the objects or the armature to simulate")
        linked = [o for o in wanted if o.library is not None]
        wanted = [o for o in wanted if o.library is None]
        if linked:
            self._refuse(linked, not wanted)
        self.simulated = {o.name for o in wanted if mesh.armature_of(o) is None}
        visible = [o for o in context.view_layer.objects if o.visible_get() and o.type == "MESH"]
        others = [] if selected_only else visible
        others += [o for o in visible if mesh.armature_of(o) in wanted]
        for empty in context.scene.objects:
            joint = empty.rigid_body_constraint
            if joint is None or not joint.enabled:
                continue
            ends = [o for o in (joint.object1, joint.object2) if o is not None]
            if any(o.name in self.simulated for o in ends):
                self.joints.append(empty.name)
                others += [empty, *ends]
        shown = context.view_layer.objects
        for owner in context.scene.objects:
            for ends, places in own_joints.involved(owner):
                # What was deleted lives on in what points to it.
                if any(o.name in self.simulated for o in ends):
                    others += [o for o in (*ends, *places) if o.name in shown]
        for rig in (o for o in wanted if o.type == "ARMATURE" and context.scene.sinew.skeleton == "controls"):
            others += [o for o in controls.outside(rig) if o.name in shown]
        for obj in [*wanted, *others]:
            self._add_object(obj)
        if not any(n.simulated for n in self.nodes):
            raise ValueError("nothing that is selected can be simulated")

    def _refuse(self, linked, is_all):
        """Says that what is linked keeps its keys."""
        names, file = ", ".join(o.name for o in linked), bpy.path.basename(linked[0].library.filepath)
        words = (
            f"{names}: linked from {file}, where the keys are, so they cannot be changed here; make a library override "
            "(Object > Library Override > Make) and simulate that"
        )
        if is_all:
            raise ValueError(words)
        self.warnings.append(words)

    def _add_object(self, obj):
        node = self.by_source.get((obj.name, None))
        if node is not None:
            return node
        parent = None
        if obj.parent is not None:
            parent = self._add_object(obj.parent)
            if obj.parent_type == "BONE" and obj.parent.type == "ARMATURE":
                parent = self.by_source.get((obj.parent.name, obj.parent_bone), parent)
        node = self._add(Node(obj.name, obj.name, parent=parent))
        node.simulated = obj.name in self.simulated
        data = obj.animation_data
        node.keyed = bool(len(obj.constraints)) or (
            data is not None and (_has_keys(obj) or len(data.nla_tracks) > 0 or len(data.drivers) > 0)
        )
        node.signs = matrix.signs(a * b for a, b in zip(obj.scale, obj.delta_scale))
        node.offset = _offset(obj)
        armature = mesh.armature_of(obj)
        if armature is not None:
            self._add_object(armature)
            self.skins[obj.name] = armature.name
        if obj.type == "ARMATURE" and obj.name not in self.bones:
            self._add_bones(obj, node)
        return node

    def _add_bones(self, obj, above):
        self.bones[obj.name] = [bone.name for bone in obj.pose.bones]
        # Parents come before children in a pose only by habit.
        waiting = [b for b in obj.data.bones if b.parent is None]
        while waiting:
            bone = waiting.pop(0)
            parent = above if bone.parent is None else self.by_source[(obj.name, bone.parent.name)]
            node = self._add(Node(bone.name, obj.name, bone=bone.name, parent=parent))
            node.simulated, node.keyed = above.simulated, True
            # In the frame of its node, which is turned: see `matrix.BONE`.
            x, y, z = obj.pose.bones[bone.name].scale
            node.signs = matrix.signs((x, z, y))
            waiting.extend(bone.children)

    def _add(self, node):
        self.nodes.append(node)
        self.by_source[(node.owner, node.bone)] = node
        return node

    @property
    def guesses_unit(self):
        """Whether the size of a figure says what a unit is: figures come in centimetres, whatever the scene says."""
        return not self.own_unit and any(self.by_source[(armature, None)].simulated for armature in self.bones)

    # Reading ---------------------------------------------------------------------------------------------------------

    def steps(self):
        """Reads one frame after another; yields how many are done, and goes on in small pieces once all are.

        Leaves the frame and the rigid bodies as they were.
        """
        objects = [n for n in self.nodes if n.bone is None]
        owners = [bpy.data.objects[n.owner] for n in objects]
        self.is_plain = plain.is_plain(owners)
        if self.is_plain:
            found = {}
            for k, node in enumerate(objects):
                owner = bpy.data.objects[node.owner]
                node.world = plain.worlds(owner, self.frames, found)
                self.eulers[(node.owner, None)] = plain.euler_at(owner, self.first)
                yield (k + 1) * len(self.frames) // len(objects)
        else:
            yield from self._play(objects)
        yield from self._localised()

    def _play(self, objects):
        scene = bpy.data.scenes[self.scene_name]
        self.is_drawn = is_drawn(scene)
        count = len(self.frames)
        self._worlds = np.empty((count, len(objects), 4, 4), dtype=np.float32)
        self._poses = {a: np.empty((count, len(b), 4, 4), dtype=np.float32) for a, b in self.bones.items()}
        before = (scene.frame_current, scene.frame_subframe)
        world = scene.rigidbody_world
        # Blender's own simulation would move what is to be simulated.
        was_on = world is not None and world.enabled
        if was_on:
            world.enabled = False
        try:
            if before[0] == self.first:
                # A pose that was changed here and not keyed would be read once, and then never again.
                go_to(scene, self.first + 1)
            for i, frame in enumerate(self.frames):
                go_to(scene, int(frame))
                self._read_frame(i, objects)
                yield i + 1
        finally:
            if was_on:
                world.enabled = True
            go_to(scene, *before)
        for k, node in enumerate(objects):
            node.world = self._worlds[:, k].astype(float)
        for armature, names in self.bones.items():
            above = self.by_source[(armature, None)].world
            for k, name in enumerate(names):
                self.by_source[(armature, name)].world = above @ self._poses[armature][:, k].astype(float) @ matrix.BONE
                yield count

    def _read_frame(self, i, objects):
        depsgraph = bpy.context.evaluated_depsgraph_get()
        evaluated = depsgraph.objects
        if i == 0 or len(evaluated) != self._evaluated:
            self._evaluated = len(evaluated)
            places = {o.original.name: k for k, o in enumerate(evaluated)}
            missing = [n.name for n in objects if n.name not in places]
            if missing:
                raise ValueError(f"{', '.join(missing)}: hidden from evaluation at frame {self.frames[i]}; show them")
            self._places = [places[n.name] for n in objects]
            self._buffer = np.empty(16 * len(evaluated), dtype=np.float32)
            if i == 0:
                self._read_first(objects)
        evaluated.foreach_get("matrix_world", self._buffer)
        # Blender keeps matrices column by column.
        self._worlds[i] = self._buffer.reshape(-1, 4, 4)[self._places].transpose(0, 2, 1)
        for armature, poses in self._poses.items():
            pose = bpy.data.objects[armature].evaluated_get(depsgraph).pose
            flat = np.empty(16 * poses.shape[1], dtype=np.float32)
            pose.bones.foreach_get("matrix", flat)
            poses[i] = flat.reshape(-1, 4, 4).transpose(0, 2, 1)

    def _read_first(self, objects):
        for node in objects:
            obj = bpy.data.objects[node.owner]
            self.eulers[(node.owner, None)] = tuple(obj.rotation_euler)
            for bone in obj.pose.bones if obj.type == "ARMATURE" else ():
                self.eulers[(node.owner, bone.name)] = tuple(bone.rotation_euler)

    def _localised(self):
        """Finds the channels of all nodes, some at a time; yields how many frames there are after each."""
        count = len(self.frames)
        still = {None: True}
        standing, moving = [], []
        for node in self.nodes:
            # One matrix that stands for all frames has no step from one to the next.
            still[node] = node.world.strides[0] == 0 or bool((node.world == node.world[0]).all())
            # What stands still on something that does is looked at once.
            (standing if still[node] and still[node.parent] else moving).append(node)
        yield count
        sheared = set()
        for nodes, frames, at_once in (
            (standing, slice(0, 1), MATRICES),
            (moving, slice(None), max(1, MATRICES // count)),
        ):
            for i in range(0, len(nodes), at_once):
                sheared |= self._localise_all(nodes[i : i + at_once], frames)
                yield count
        if sheared:
            names = [n.name for n in self.nodes if n in sheared]
            self.warnings.append(
                f"{', '.join(names)}: sheared by what is above; read as the nearest rotation and scale. "
                "Apply the scale of their parents to be exact"
            )

    def _localise_all(self, nodes, frames):
        """Finds the channels of nodes at these frames; gives those that are sheared."""
        if not nodes:
            return set()
        local = np.stack([_relative(node, frames) for node in nodes])
        signs = np.repeat([node.signs for node in nodes], local.shape[1], axis=0)
        found = matrix.decompose_each(local.reshape(-1, 4, 4), signs)
        t, q, s, shear = (part.reshape(local.shape[0], local.shape[1], -1) for part in found)
        parts = (t, matrix.continuous(q), s)
        largest = [np.abs(part).max(axis=(1, 2)) for part in parts]
        stays = [np.ptp(p, axis=1).max(axis=1) <= STILL * np.maximum(1.0, m) for p, m in zip(parts, largest)]
        # One frame stands for all of what stands still.
        parts = [np.broadcast_to(part, (len(nodes), len(self.frames), part.shape[2])) for part in parts]
        for k, node in enumerate(nodes):
            node.local = [part[k] for part in parts]
            node.stays = tuple(bool(part[k]) for part in stays)
            node.moves = not all(node.stays)
        return {node for node, worst in zip(nodes, shear.max(axis=(1, 2))) if worst > matrix.SHEAR_MAX}

    # Into Sinew ------------------------------------------------------------------------------------------------------

    def building(self):
        """Makes the scene of Sinew, `self.scene`, in small pieces, and yields after each. Meshes are read as they are
        shown now."""
        unit = None if self.guesses_unit else self.unit
        scene = Scene.create(self.scene_name, z_up=True, metres_per_unit=unit, frames_per_second=self.rate)
        clip = scene.add_clip("Keys")
        times = (self.frames - self.first) / self.rate
        for node in self.nodes:
            parent = None if node.parent is None else node.parent.index
            if node.offset is not None:
                parent = self._add_offset(scene, node, parent)
            t, q, s = node.local
            node.index = scene.add_node(node.name, parent, t[0], q[0], _evened(s[0]))
            self._add_curves(scene, clip, node, times)
            yield
        for node in self.nodes:
            if node.bone is None:
                yield from self._add_mesh(scene, node)
        skinned = set(self.skins.values())
        for armature, names in self.bones.items():
            if armature not in skinned and self.by_source[(armature, None)].simulated:
                # A skeleton that no mesh follows: its bones are bars.
                self._set_skin(scene, self.by_source[(armature, None)], armature, names)
        self.scene = scene

    def _add_offset(self, scene, node, parent):
        offset = node.offset
        if matrix.is_plain(offset):
            t, q, s, _ = matrix.decompose(offset[None])
            return scene.add_node(f"{node.name} (offset)", parent, t[0], q[0], s[0])
        outer, inner = matrix.two_steps(offset)
        parent = scene.add_node(f"{node.name} (offset)", parent, *outer)
        return scene.add_node(f"{node.name} (offset turn)", parent, *inner)

    def _add_curves(self, scene, clip, node, times):
        for name, values, stays in zip(("translation", "rotation", "scale"), node.local, node.stays):
            if not stays:
                scene.add_curve(clip, node.index, name, times, values)
            elif name == ("rotation" if node.bone else "translation") and node.simulated and node.keyed:
                # Keyed to stand still is keyed.
                scene.add_curve(clip, node.index, name, times[[0, -1]], values[[0, -1]])

    def _add_mesh(self, scene, node):
        obj = bpy.data.objects[node.owner]
        if obj.type not in {"MESH", "CURVE", "SURFACE", "FONT", "META"}:
            return
        # Asked for anew at each: in between, Blender may have evaluated another frame.
        found = mesh.triangles_of(obj, bpy.context.evaluated_depsgraph_get())
        yield
        if found is None:
            return
        scene.set_mesh(node.index, *found)
        node.has_mesh = True
        yield
        armature = self.skins.get(node.owner)
        if armature is None:
            return
        skeleton = bpy.data.objects[armature]
        names = [b.name for b in skeleton.data.bones if b.use_deform and b.name in obj.vertex_groups]
        if not names:
            return
        self._set_skin(scene, node, armature, names)
        pulls = yield from mesh.weights_of(obj.name, names)
        if not len(pulls[0]):
            return
        obj, skeleton = bpy.data.objects[node.owner], bpy.data.objects[armature]
        to_armature = skeleton.matrix_world.inverted() @ obj.matrix_world
        rests = [np.array(skeleton.data.bones[n].matrix_local, dtype=float) @ matrix.BONE for n in names]
        bind = [np.linalg.solve(rest, np.array(to_armature, dtype=float)).T.ravel() for rest in rests]
        yield
        scene.set_weights(node.index, *pulls, bind)
        yield

    def _set_skin(self, scene, node, armature, names):
        bones = [self.by_source[(armature, n)] for n in names]
        for bone in bones:
            bone.deforms = True
        scene.set_skin(node.index, [bone.index for bone in bones])

    def reference(self, node):
        """What a set-up calls a node: its name, or its number where the name is not its alone."""
        if not hasattr(self, "_names"):
            self._names = {}
            for other in self.nodes:
                self._names[other.name] = self._names.get(other.name, 0) + 1
        is_own = node.name and self._names[node.name] == 1 and not node.name.startswith("#")
        return node.name if is_own else f"#{node.index}"


def _has_keys(obj):
    """Whether an action keys anything but settings of ours."""
    curves = action.curves(obj)
    return curves is not None and (not len(curves) or any(not c.data_path.startswith("sinew") for c in curves))


def _evened(scale):
    """A scale without the last digits of single precision: what is the same along all axes is simpler to follow."""
    x, y, z = scale.tolist()
    mean = (x + y + z) / 3.0
    if max(abs(x - mean), abs(y - mean), abs(z - mean)) > STILL * abs(mean):
        return scale
    return (1.0 if abs(mean - 1.0) <= STILL else mean,) * 3


def _relative(node, frames):
    """Matrices of a node relative to what is above it, as its channels are."""
    local = node.world[frames]
    if node.parent is None and node.offset is None:
        return local
    above = np.eye(4) if node.parent is None else node.parent.world[frames]
    return np.linalg.solve(above if node.offset is None else above @ node.offset, local)


def _offset(obj):
    """What Blender has between an object's parent and its own channels; None for nothing."""
    if obj.parent is None:
        return None
    found = obj.matrix_parent_inverse.copy()
    if obj.parent_type == "BONE" and obj.parent.type == "ARMATURE":
        bone = obj.parent.data.bones.get(obj.parent_bone)
        if bone is not None and bone.use_relative_parent:
            found = bone.matrix_local.inverted() @ found
        elif bone is not None:
            # Children of a bone hang on its end.
            found = Matrix.Translation((0.0, bone.length, 0.0)) @ found
    elif obj.parent_type not in {"OBJECT", "ARMATURE", "BONE"}:
        raise ValueError(f"{obj.name} is parented to a {obj.parent_type.lower()}; parent it to the object instead")
    offset = np.array(found, dtype=float)
    if obj.parent_type == "BONE" and obj.parent.type == "ARMATURE":
        offset = matrix.BONE.T @ offset
    return None if np.allclose(offset, np.eye(4), atol=1e-12) else offset
