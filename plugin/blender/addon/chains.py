"""Chains of bones: tails, arms, hair. Which there are the library says, in the groups of the set-up that it makes of a figure;
an animator adds others by a name on their bones. Either has factors, which multiply whatever its bones have.
"""

import bpy
from bpy.props import CollectionProperty, IntProperty, StringProperty

from . import keyed, properties

#: What a set-up calls the group of a chain's factors: this, the armature (with ~1 for a slash), a slash, the chain.
PREFIX = "Blender chain: "
FACTORS = ("strength", "damping", "blend")


class SinewChain(bpy.types.PropertyGroup):
    """Factors of one chain of an armature."""

    name: StringProperty(name="Name", description="The chain, as Sinew or you call it")
    strength: properties.number(
        "Strength", "Factor on how hard all bones of the chain pull towards their keys. Less swings and trails, 0 hangs. "
        "1 is as Sinew has it, which is soft for tails and hair already. Can be keyed", 1.0, 0.0, 1000.0, 4.0,
    )  # fmt: skip
    damping: properties.number(
        "Damping", "Factor on the damping of the chain. Less wobbles on after a move, more creeps. Can be keyed",
        1.0, 0.0, 100.0, 4.0,
    )  # fmt: skip
    blend: properties.number(
        "Physics", "How much of the physics of the chain is shown: 0 is its keys, 1 is the simulation. Can be keyed",
        1.0, 0.0, 1.0,
    )  # fmt: skip


for _property in SinewChain.__annotations__.values():
    _property.keywords["override"] = {"LIBRARY_OVERRIDABLE"}


def found(capture, setup):
    """The chains in a set-up that the library made: by armature and name, the names of their bones, in its order."""
    names = [group["name"] for group in setup.get("groups", [])]
    nodes = {capture.reference(node): node for node in capture.nodes if node.bone is not None} if names else {}
    chains = {}
    for body in setup.get("bodies", []):
        node = nodes.get(body["node"])
        for name in body.get("groups", ()) if node is not None else ():
            chains.setdefault(node.owner, {}).setdefault(name, []).append(node.bone)
    return {owner: {n: own[n] for n in names if n in own} for owner, own in chains.items()}


def made(armature):
    """The chains that an animator made of an armature's bones: by name, the names of the bones."""
    chains = {}
    for bone in armature.pose.bones:
        if bone.sinew.chain:
            chains.setdefault(bone.sinew.chain, []).append(bone.name)
    return chains


def build(capture, known, setup, bodies):
    """Adds groups for the factors of all chains: `known` are those that the library found, `bodies` are by reference."""
    for name in capture.bones:
        if not capture.by_source[(name, None)].simulated:
            continue
        armature = bpy.data.objects[name]
        own = made(armature)
        items = {item.name: (i, item) for i, item in enumerate(armature.sinew_chains)}
        for chain in dict.fromkeys([*items, *own]):
            group = _factors(capture, armature, *items[chain]) if chain in items else {}
            # One that was made is written down even without factors: who is in it is what was set.
            members = own.get(chain) or (known.get(name, {}).get(chain) if group else None)
            if members:
                _add(capture, setup, bodies, group | {"name": group_name(name, chain)}, name, members)


def group_name(armature, chain):
    return f"{PREFIX}{armature.replace('~', '~0').replace('/', '~1')}/{chain}"


def chain_of(group):
    """The chain whose factors a group of a set-up has; nothing for other groups."""
    return group.partition("/")[2] if group.startswith(PREFIX) else ""


def _factors(capture, armature, index, item):
    group = {}
    quoted = bpy.utils.escape_identifier(item.name)
    for name in FACTORS:
        keys = keyed.keys(
            capture, armature, f"sinew_chains[{index}].{name}", f'sinew_chains["{quoted}"].{name}', least=0.0
        )
        if keys is not None:
            group[name] = keys
        elif item.is_property_set(name):
            group[name] = getattr(item, name)
    return group


def _add(capture, setup, bodies, group, armature, members):
    nodes = (capture.by_source.get((armature, bone)) for bone in members)
    inside = [bodies.get(capture.reference(node)) for node in nodes if node is not None]
    inside = [body for body in inside if body is not None and body.get("behaviour", "guided") == "guided"]
    if inside:
        setup.setdefault("groups", []).append(group)
    for body in inside:
        body["groups"] = [*body.get("groups", []), group["name"]]


def note(chains):
    """Lists what the library found on the armatures themselves, so that there is something to set; nothing is lost of what
    was set before."""
    for name, own in chains.items():
        armature = bpy.data.objects.get(name)
        if armature is None or armature.library is not None:
            continue
        for chain in own:
            if chain not in armature.sinew_chains:
                armature.sinew_chains.add().name = chain


def item_of(armature, chain):
    """The factors of a chain, which are there from then on."""
    if chain not in armature.sinew_chains:
        armature.sinew_chains.add().name = chain
    return armature.sinew_chains[chain]


CLASSES = (SinewChain,)


def register():
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Object.sinew_chains = CollectionProperty(type=SinewChain, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"})
    bpy.types.Object.sinew_chain_index = IntProperty(options={"HIDDEN"}, override={"LIBRARY_OVERRIDABLE"})


def unregister():
    del bpy.types.Object.sinew_chain_index
    del bpy.types.Object.sinew_chains
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
