// A glTF document as bytes: its JSON and its buffers, for .gltf and .glb alike.

import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const GLB_MAGIC = 0x46546c67;
const CHUNK_JSON = 0x4e4f534a;
const CHUNK_BIN = 0x004e4942;

export function openDocument(path) {
  const bytes = readFileSync(path);
  const isBinary = bytes.length >= 12 && bytes.readUInt32LE(0) === GLB_MAGIC;
  const chunks = isBinary ? readChunks(bytes) : new Map([[CHUNK_JSON, bytes]]);
  const json = JSON.parse(new TextDecoder().decode(chunks.get(CHUNK_JSON)));
  return { name: basename(path), bytes, json, buffer: (index) => readBuffer(path, json, index, chunks.get(CHUNK_BIN)) };
}

function readChunks(bytes) {
  const chunks = new Map();
  for (let at = 12; at + 8 <= bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    const kind = bytes.readUInt32LE(at + 4);
    if (!chunks.has(kind)) chunks.set(kind, bytes.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  return chunks;
}

function readBuffer(path, json, index, embedded) {
  const { uri } = json.buffers[index];
  if (uri === undefined) {
    if (index === 0 && embedded) return embedded;
    throw new Error(`buffer ${index} has no data`);
  }
  const data = /^data:[^,]*;base64,(.*)$/s.exec(uri);
  return data ? Buffer.from(data[1], 'base64') : readResource(path, uri);
}

// A file that the document at `path` refers to.
export function readResource(path, uri) {
  return readFileSync(join(dirname(path), decodeURIComponent(uri)));
}
