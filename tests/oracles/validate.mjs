// The Khronos glTF validator's verdict.
//
// usage: node validate.mjs FILE [ORIGINAL]
// stdout: {"errors": {CODE: count}, "messages": ["CODE pointer: text", ...], "fresh": [CODE, ...]}
//
// `fresh` names the errors that FILE has more of than ORIGINAL (than none, without ORIGINAL): a published file may
// itself be at fault, and saving it unchanged is no crime. `messages` are the first few of the fresh kinds.
// Exit 0 without fresh errors, 1 with, 3 when there is nothing to judge.

import { basename } from 'node:path';
import { readFileSync } from 'node:fs';
import validator from 'gltf-validator';
import { readResource } from './document.mjs';

const MESSAGES_SHOWN = 8;
const SEVERITY_ERROR = 0;

async function errorsOf(path) {
  const report = await validator.validateBytes(new Uint8Array(readFileSync(path)), {
    uri: basename(path),
    maxIssues: 0, // no limit: counts are compared
    externalResourceFunction: async (uri) => new Uint8Array(readResource(path, uri)),
  });
  // A resource that is not there is only a warning to the validator. To us it is a file that does not open.
  return report.issues.messages.filter((m) => m.severity === SEVERITY_ERROR || m.code === 'IO_ERROR');
}

function countByCode(issues) {
  const counts = {};
  for (const { code } of issues) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

const [file, original] = process.argv.slice(2);
if (!file) {
  console.error('usage: node validate.mjs FILE [ORIGINAL]');
  process.exit(3);
}
try {
  const issues = await errorsOf(file);
  const errors = countByCode(issues);
  const accepted = original ? countByCode(await errorsOf(original)) : {};
  const fresh = Object.keys(errors).filter((code) => errors[code] > (accepted[code] ?? 0));
  const messages = issues
    .filter((m) => fresh.includes(m.code))
    .slice(0, MESSAGES_SHOWN)
    .map((m) => `${m.code} ${m.pointer ?? ''}: ${m.message}`);
  console.log(JSON.stringify({ errors, messages, fresh }));
  process.exitCode = fresh.length ? 1 : 0;
} catch (error) {
  console.error(String(error));
  process.exitCode = 3;
}
