// Checks docker-compose.yml without a container engine: style (dclint), the project's own rules, and the Compose schema
// if a Compose plugin or binary is installed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { composeProblems } from './deploy-rules/compose-rules.mjs';
import { report } from './deploy-rules/report.mjs';
import { tools } from './tools.mjs';

const root = join(import.meta.dirname, '..');
const file = process.argv[2] ?? join(root, 'docker-compose.yml');
const text = readFileSync(file, 'utf8');
const example = readFileSync(join(root, '.env.example'), 'utf8');

/** Keys and services are ordered by meaning, and an image that is built also has a name, so that it can be pushed. */
const STYLE_OFF = [
  'service-keys-order',
  'services-alphabetical-order',
  'top-level-properties-order',
  'service-dependencies-alphabetical-order',
  'no-build-and-image',
  // These two rules do not resolve variables. compose-rules.mjs checks ports.
  'no-unbound-port-interfaces',
  'require-quotes-in-ports',
];

function styleProblems() {
  const manifest = createRequire(join(tools().folder, 'package.json')).resolve('dclint/package.json');
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
  const script = join(dirname(manifest), typeof bin === 'string' ? bin : bin.dclint);
  const off = STYLE_OFF.flatMap((rule) => ['--disable-rule', rule]);
  const run = spawnSync(process.execPath, [script, file, '--max-warnings', '0', ...off], {
    encoding: 'utf8',
    cwd: root,
  });
  return run.status === 0 ? [] : [`dclint:\n${`${run.stdout}${run.stderr}`.trim()}`];
}

/** Returns `docker compose` or `docker-compose` 2, if installed. */
function composeCommand() {
  const candidates = [['docker', 'compose'], ['docker-compose']];
  return candidates.find(([command, ...args]) => {
    const version = spawnSync(command, [...args, 'version', '--short'], { encoding: 'utf8' });
    return version.status === 0 && /^v?[2-9]/.test(version.stdout.trim());
  });
}

function schemaProblems(command) {
  const [program, ...args] = command;
  const run = spawnSync(program, [...args, '-f', file, '--profile', 'observability', 'config', '-q'], {
    encoding: 'utf8',
  });
  return run.status === 0 ? [] : [`${command.join(' ')} config: ${run.stderr.trim()}`];
}

const doc = parse(text, { merge: true });
const compose = composeCommand();
const problems = [
  ...composeProblems(doc, text, {
    file: (path) => existsSync(join(root, path)),
    documented: [...example.matchAll(/^#? ?([A-Z][A-Z_]+)=/gm)].map(([, variable]) => variable),
  }),
  ...styleProblems(),
  ...(compose ? schemaProblems(compose) : []),
];
const how = compose ? `schema by ${compose.join(' ')}` : 'without its schema, because no Compose plugin is installed';
report('docker-compose.yml', problems, `${Object.keys(doc.services).length} services are valid (${how})`);
