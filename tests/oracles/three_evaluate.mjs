// What three.js makes of a file's animation.
//
// stdin:  {"file": PATH, "clips": [{"NODE/PATH": [time, ...]}, ...]}    one entry per animation of the file
// stdout: {"clips": [{"NODE/PATH": [[value, ...], ...]}, ...]}          every channel three.js has; those not asked
//                                                                      for are given with an empty list
//    or:  {"refused": REASON}                                           the loader cannot read the file
//
// NODE is the index in the file: three.js renames nodes, so tracks are labelled as the loader makes them.
//
// How exact it is: keys are float32 in three.js, the arithmetic here is float64 (each interpolant writes into a
// Float64Array). Integer keys lose up to 6e-8 by going through float32. Between rotation keys whose dot product is
// over 0.9995 three.js normalises a straight line where glTF asks for a slerp; that is off by at most 5.1e-7
// (angle^3 / 6 * 0.0962 at 0.0316 rad). A slerp is between unit quaternions, which integer keys are not quite and
// three.js does not mind: such keys are normalised here first. Cubic keys are not, as the specification has it;
// only what comes out is.

import { text } from 'node:stream/consumers';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
import { openDocument } from './document.mjs';

const request = JSON.parse(await text(process.stdin));
// three.js warns on the console about what it does not know; stdout is for the answer.
console.warn = console.log = console.error;

let answer;
try {
  const animations = await loadAnimations(openDocument(request.file));
  answer = { clips: animations.map((clip, index) => evaluateClip(clip, request.clips[index] ?? {})) };
} catch (error) {
  answer = { refused: String(error?.message ?? error) };
}
process.stdout.write(JSON.stringify(answer));

async function loadAnimations(document) {
  await MeshoptDecoder.ready;
  const loader = new GLTFLoader();
  loader.setMeshoptDecoder(MeshoptDecoder);
  loader.register((parser) => {
    parser.loadBuffer = async (index) => toArrayBuffer(document.buffer(index));
    labelTracks(parser);
    return { name: 'SINEW_oracle' };
  });
  const { animations } = await loader.parseAsync(JSON.stringify(withoutLooks(document.json)), '');
  return animations;
}

// Images need a browser and compressed meshes a decoder that three.js does not carry in one file; neither changes a
// curve. A primitive without its compressed data still has its accessors, which then read as zeros.
function withoutLooks(json) {
  const bare = structuredClone(json);
  for (const key of ['images', 'textures', 'samplers', 'materials']) delete bare[key];
  for (const primitive of (bare.meshes ?? []).flatMap((mesh) => mesh.primitives)) {
    delete primitive.material;
    delete primitive.extensions;
  }
  const matters = (name) => name !== 'KHR_draco_mesh_compression' && !/_materials_|_texture_/.test(name);
  for (const key of ['extensionsUsed', 'extensionsRequired']) {
    if (bare[key]) bare[key] = bare[key].filter(matters);
  }
  return bare;
}

function labelTracks(parser) {
  const create = parser._createAnimationTracks;
  parser._createAnimationTracks = function (node, input, output, sampler, target) {
    const tracks = create.call(this, node, input, output, sampler, target);
    for (const track of tracks) track.label = `${target.node}/${target.path}`;
    return tracks;
  };
}

function evaluateClip(clip, asked) {
  const channels = {};
  for (const track of clip.tracks) {
    // A mesh of several primitives has one and the same weights track for each.
    channels[track.label] ??= evaluateTrack(track, asked[track.label] ?? []);
  }
  return channels;
}

function evaluateTrack(track, times) {
  const isRotation = track.ValueTypeName === 'quaternion';
  const isCubic = track.values.length === 3 * 4 * track.times.length;
  if (isRotation && !isCubic) track.values = withUnitKeys(track.values);
  const interpolant = track.createInterpolant(new Float64Array(track.getValueSize()));
  return times.map((time) => {
    // With CUBICSPLINE three.js counts tangents into the size of a value; its interpolant knows better.
    const value = Array.from(interpolant.evaluate(time).subarray(0, interpolant.valueSize));
    return isRotation ? unit(value) : value;
  });
}

function withUnitKeys(values) {
  const keys = Array.from({ length: values.length / 4 }, (_, k) => unit(Array.from(values.subarray(4 * k, 4 * k + 4))));
  return Float64Array.from(keys.flat());
}

function unit(quaternion) {
  const length = Math.hypot(...quaternion);
  return quaternion.map((c) => c / length);
}

function toArrayBuffer(bytes) {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}
