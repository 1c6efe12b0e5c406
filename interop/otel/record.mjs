// Records what each instrumentation sends, for the golden tests of the dialect `otlp`:
//   node record.mjs [agent ...]
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { AGENTS, HERE, PYTHONS, pythonOf, VENVS } from './environments.mjs';
import { startModelServer } from './model-server.mjs';
import { startReceiver } from './receiver.mjs';
import { runAgent } from './run-agent.mjs';
import { pythonHome, versionsOf } from './versions.mjs';

const ROOT = join(HERE, '..', '..');
const OUT = join(ROOT, 'libs', 'contracts', 'src', 'dialects', 'otlp', 'recordings');
mkdirSync(OUT, { recursive: true });

/** Spans name the machine they were recorded on: another text of the same length stands there instead. */
const OF_THIS_MACHINE = [
  ...[HERE, ROOT, VENVS, homedir(), ...PYTHONS.map((name) => pythonHome(pythonOf(name)))],
  existsSync('/etc/machine-id') ? readFileSync('/etc/machine-id', 'utf8').trim() : '',
]
  .filter((text) => text.length > 1)
  .sort((a, b) => b.length - a.length);

function neutral(body) {
  const text = OF_THIS_MACHINE.reduce(
    (bytes, own) => bytes.replaceAll(own, '/app'.padEnd(own.length, '_').slice(0, own.length)),
    body.toString('latin1'),
  );
  return Buffer.from(text, 'latin1');
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(AGENTS);
for (const [index, name] of names.entries()) {
  process.stdout.write(`${index + 1}/${names.length} ${name} … `);
  const [model, receiver] = await Promise.all([startModelServer(), startReceiver()]);
  try {
    await runAgent(name, { modelUrl: model.url, endpoint: receiver.url });
    const requests = receiver.requests
      .filter(({ path }) => path !== '/v1/metrics')
      .map(({ path, contentType, body }) => {
        const sent = neutral(body);
        return contentType.includes('json')
          ? { path, contentType, json: JSON.parse(sent.toString()) }
          : { path, contentType, protobuf: sent.toString('base64') };
      });
    // A spec compares it: recordings are made again, never edited.
    const digest = createHash('sha256').update(JSON.stringify(requests)).digest('hex');
    const made = { agent: name, of: AGENTS[name].of, versions: versionsOf(name), digest };
    const recording = { ...made, model: model.calls, requests };
    writeFileSync(join(OUT, `${name}.json`), `${JSON.stringify(recording, null, 1)}\n`);
    console.log(`${requests.length} requests, ${model.calls.length} model calls`);
  } finally {
    await Promise.all([model.close(), receiver.close()]);
  }
}
