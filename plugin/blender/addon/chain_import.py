"""Chains of a set-up file into the settings of armatures: the other way round than `chains`.

A set-up has the groups that the library made, with what was changed in them, and those of factors that come from here.
"""

import bpy

from . import chain_panel, chains, keyed
from .sinew import SinewError

#: Factors that differ by less are the same.
SAME = 1e-6


def apply(context, setup, find):
    """Sets up all chains of a file; `find` gives the object or bone of a name. Words about what could not be."""
    groups = {group["name"]: group for group in setup.get("groups", [])}
    inside, members = _members(setup, find)
    missing, library = [], {}
    for (armature, name), bones in members.items():
        if not chains.chain_of(name) and armature not in library:
            try:
                _, made = chain_panel.read(context, armature)
                library[armature] = {group["name"]: group for group in made.get("groups", [])}
            except (ValueError, SinewError) as error:
                missing.append(f"chains of {armature.name} ({error})")
                library[armature] = None
    for (armature, name), bones in members.items():
        chain, group = chains.chain_of(name), groups[name]
        if chain:
            # A chain that the library found is a group of its own in the file, with the same bones.
            is_own = not any(chain in inside[bone] for bone in bones)
            _set(context.scene, armature, chain, group, {}, bones if is_own else ())
        elif library[armature] is not None:
            found = library[armature].get(name)
            _set(context.scene, armature, name, group, found or {}, () if found else bones)
    return missing


def _members(setup, find):
    """Of every bone, its groups; and of every group of bones, by armature and name, those bones."""
    inside, members = {}, {}
    known = {group["name"] for group in setup.get("groups", [])}
    for body in setup.get("bodies", []):
        names = [name for name in body.get("groups", ()) if name in known and not name.startswith("Blender: ")]
        bone = find(body["node"]) if names else None
        if isinstance(bone, bpy.types.PoseBone):
            inside[bone] = names
            for name in names:
                members.setdefault((bone.id_data, name), []).append(bone)
    return inside, members


def _set(scene, armature, chain, group, usual, bones):
    """Sets the factors of a chain to what a file has over what the library has; `bones` are made one."""
    for bone in bones:
        bone.sinew.chain = chain
    if bones:
        chains.item_of(armature, chain)
    for name in chains.FACTORS:
        said, own = group.get(name, 1.0), usual.get(name, 1.0)
        is_same = not isinstance(said, dict) and abs(said - own) <= SAME
        if not is_same and isinstance(own, (int, float)) and own > 0.0:
            keyed.put(chains.item_of(armature, chain), name, said, scene, own)
