"""Physics of Blender as ours, ours in files of others, and soft skins."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import bmesh
import bpy
import numpy as np
import scenes
from harness import SINEW, addon, run_whole, simulate


def hold(joint, *names):
    """Holds directions of a generic constraint: linx, angz."""
    for name in names:
        kind, axis = name[:3], name[3]
        setattr(joint, f"use_limit_{kind}_{axis}", True)
        for end in ("lower", "upper"):
            setattr(joint, f"limit_{kind}_{axis}_{end}", 0.0)


class Joints(unittest.TestCase):
    """Rigid-body constraints are joints."""

    def made(self, kind, change=None):
        scenes.chain(1, 20)
        joint = bpy.data.objects["Joint000"].rigid_body_constraint
        joint.type = kind
        if change is not None:
            change(joint)
        self.run_ = run_whole()[0]
        found = self.run_.setup.get("joints", [])
        return found[0] if found else None

    def test_hinge_piston_and_point_with_their_limits(self):
        def limit(joint):
            joint.use_limit_ang_z, joint.limit_ang_z_lower, joint.limit_ang_z_upper = True, -0.5, 0.25

        found = self.made("HINGE", limit)
        self.assertEqual(found["kind"], "pin")
        # Blender's Z is up there, and Y here.
        np.testing.assert_allclose(found["axis"], [0, 1, 0], atol=1e-6)
        np.testing.assert_allclose(found["turn_deg"]["limits"], np.degrees([-0.5, 0.25]), rtol=1e-5)
        self.assertEqual(self.made("PISTON")["kind"], "cylindrical")
        self.assertEqual(self.made("POINT")["kind"], "universal")

    def test_a_generic_one_that_tilts_within_a_cone(self):
        def change(joint):
            hold(joint, "linx", "liny", "linz")
            for axis, far in (("x", 0.3), ("y", 0.4), ("z", 0.5)):
                setattr(joint, f"use_limit_ang_{axis}", True)
                setattr(joint, f"limit_ang_{axis}_lower", -far)
                setattr(joint, f"limit_ang_{axis}_upper", far)

        found = self.made("GENERIC", change)
        self.assertEqual(found["kind"], "universal")
        np.testing.assert_allclose(found["turn_deg"]["limits"], np.degrees([-0.3, 0.3]), rtol=1e-5)
        np.testing.assert_allclose(found["swing_deg"]["cone"], np.degrees([0.4, 0.5]), rtol=1e-5)

    def test_a_generic_one_that_turns_about_one_axis(self):
        found = self.made("GENERIC", lambda j: hold(j, "linx", "liny", "linz", "angx", "angz"))
        self.assertEqual(found["kind"], "pin")
        np.testing.assert_allclose(found["axis"], [0, 0, -1], atol=1e-6)

    def test_one_that_no_joint_is_like_is_named(self):
        self.assertIsNone(self.made("GENERIC", lambda j: hold(j, "linx", "angx")))
        self.assertTrue(any("Joint000" in w and "slide Y" in w for w in self.run_.warnings), self.run_.warnings)

    def test_a_spring_pulls_back(self):
        """On a spring of 400 N/m, a kilogram hangs 24.5 mm lower than where it is at rest."""

        def change(joint):
            hold(joint, "linx", "liny", "angx", "angy", "angz")
            joint.use_spring_z, joint.spring_stiffness_z, joint.spring_damping_z = True, 400.0, 40.0

        found = self.made("GENERIC_SPRING", change)
        self.assertEqual(found["kind"], "prismatic")
        self.assertEqual((found["slide"]["stiffness"], found["slide"]["damping"]), (400.0, 40.0))
        head, link = (self.run_.job.report["bodies"][i]["node"] for i in (0, -1))
        self.assertIn("Link000", (head, link))
        result = addon("state").result
        way = result.ways[result.names.index("Link000")]
        sunk = way[0, 2] - way[:, 2]
        self.assertGreater(sunk.max(), 0.015)
        self.assertLess(sunk.max(), 0.05)

    def test_springs_all_round_give_way(self):
        def change(joint):
            hold(joint, "angx", "angy", "angz")
            for axis in "xyz":
                setattr(joint, f"use_spring_{axis}", True)
                setattr(joint, f"spring_stiffness_{axis}", 300.0)

        found = self.made("GENERIC_SPRING", change)
        self.assertEqual(found["kind"], "fixed")
        self.assertAlmostEqual(found["give"]["stiffness"], 300.0)

    def test_a_motor_runs_its_hinge(self):
        scenes.chain(1, 25)
        hinge = bpy.data.objects["Joint000"]
        hinge.rigid_body_constraint.type = "HINGE"
        motor = scenes.add("Motor", None, hinge.location)
        bpy.context.scene.rigidbody_world.constraints.objects.link(motor)
        found = motor.rigid_body_constraint
        found.type = "MOTOR"
        found.object1, found.object2 = hinge.rigid_body_constraint.object1, hinge.rigid_body_constraint.object2
        found.use_motor_ang, found.motor_ang_target_velocity, found.motor_ang_max_impulse = True, 2.0, 500.0
        run = run_whole()[0]
        self.assertEqual(len(run.setup["joints"]), 1)
        body = next(i for i, n in enumerate(run.job.body_nodes) if run.scene.nodes[n] == "Link000")
        first, last = run.job.poses[0, body, 3:], run.job.poses[-1, body, 3:]
        turned = 2.0 * np.arccos(min(1.0, abs(float(first @ last))))
        # A second at two radians a second.
        self.assertAlmostEqual(turned, 2.0, delta=0.2)
        found.object1 = None
        run = run_whole()[0]
        self.assertTrue(any("Motor" in w and "nothing to run" in w for w in run.warnings), run.warnings)


class Exchanged(unittest.TestCase):
    """Scenes of glTF and USD with physics in them."""

    def baked(self, path):
        path = pathlib.Path(path)
        command = [SINEW, "bake", str(path), "-o", str(path.with_name(f"baked{path.suffix}")), "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_out_and_in_again(self):
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("glb", "usda"):
                with self.subTest(ending=ending):
                    scenes.falling()
                    ball = bpy.data.objects["Ball"]
                    ball.sinew.friction, ball.sinew.bounce = 0.25, 0.5
                    path = str(pathlib.Path(folder) / f"shot.{ending}")
                    self.assertEqual(bpy.ops.sinew.export_physics(filepath=path), {"FINISHED"})
                    bodies = {b["node"].rpartition("/")[2]: b for b in json.loads(self.baked(path))["bodies"]}
                    # It fell onto the table: 1.2 m less half its height, and was pushed on.
                    self.assertGreater(bodies["Ball"]["max_distance"], 0.9)
                    for name in ("friction", "bounce"):
                        ball.sinew.property_unset(name)
                    bpy.ops.sinew.import_setup(filepath=path)
                    self.assertAlmostEqual(ball.sinew.friction, 0.25, places=5)
                    self.assertAlmostEqual(ball.sinew.bounce, 0.5, places=5)
                    self.assertEqual(ball.sinew.behaviour, "free")

    def test_an_ending_that_says_nothing_is_refused(self):
        scenes.falling()
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.sinew.export_physics(filepath="/tmp/shot.fbx")
        self.assertIn(".usda", str(caught.exception))


class Pressed(unittest.TestCase):
    """Soft skins are shape keys."""

    def soft(self, ball):
        """Gives an object a finer mesh, and makes it soft; gives its vertices."""
        mesh = bpy.data.meshes.new("Soft")
        made = bmesh.new()
        bmesh.ops.create_icosphere(made, subdivisions=3, radius=0.3)
        made.to_mesh(mesh)
        made.free()
        ball.data = mesh
        ball.sinew.coating, ball.sinew.coating_thickness, ball.sinew.coating_stiffness = True, 0.1, 2e4
        scenes.select(ball)
        return np.array([v.co for v in mesh.vertices])

    def lowest(self, ball, before):
        """The lowest points of a ball as it is played, pressed in and as if rigid."""
        scene, lowest = bpy.context.scene, []
        for frame in range(1, 24):
            scene.frame_set(frame)
            shown = ball.evaluated_get(bpy.context.evaluated_depsgraph_get())
            place = np.array(shown.matrix_world)
            points = np.array([v.co for v in shown.data.vertices]) @ place[:3, :3].T + place[:3, 3]
            lowest.append((points[:, 2].min(), (before @ place[:3, :3].T + place[:3, 3])[:, 2].min()))
        return np.array(lowest).min(axis=0)

    def check(self, ball, before):
        simulate()
        blocks = [b for b in ball.data.shape_keys.key_blocks if b.name.startswith("Sinew press")]
        self.assertGreater(len(blocks), 0)
        np.testing.assert_array_equal(np.array([v.co for v in ball.data.vertices]), before)
        pressed, rigid = self.lowest(ball, before)
        # The rigid ball sinks in; the soft one ends on the table.
        self.assertLess(rigid, -0.005)
        self.assertGreater(pressed, 0.7 * rigid)
        again = len(ball.data.shape_keys.key_blocks)
        ways = addon("state").result.ways[0]
        simulate()
        self.assertEqual(len(ball.data.shape_keys.key_blocks), again, "pressed again, they are made anew")
        np.testing.assert_allclose(addon("state").result.ways[0], ways, atol=1e-9)

    def test_a_soft_ball_is_pressed_in_where_it_lands(self):
        scenes.empty_file()
        scenes.box("Table", (6.0, 6.0, 0.2), (0, 0, -0.1)).sinew.behaviour = "static"
        ball = scenes.box("Ball", (0.4, 0.4, 0.4), (0, 0, 1.2))
        ball.sinew.behaviour, ball.sinew.mass, ball.sinew.shape = "free", 2.0, "sphere"
        self.check(ball, self.soft(ball))

    def test_one_that_is_a_rigid_body_of_blender_too(self):
        """Blender's simulation goes on beside it, and begins anew at the first frame, where it used to crash."""
        for _ in range(3):
            scenes.falling()
            ball = bpy.data.objects["Ball"]
            ball.rigid_body.collision_shape = "SPHERE"
            self.check(ball, self.soft(ball))
            is_disorderly = addon("pressed").IS_DISORDERLY
            self.assertEqual(ball.rigid_body.collision_shape, "CONVEX_HULL" if is_disorderly else "SPHERE")
