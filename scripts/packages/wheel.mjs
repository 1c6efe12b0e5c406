// Builds the wheel of the Python package without Python, because `npm start` must not need it. CI compares it with the
// wheel of the real build.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { zip } from './zip.mjs';

const folder = fileURLToPath(new URL('../../python', import.meta.url));
const PACKAGE = 'agentlens';

/** @returns `{ name, version, requiresPython, file, body }` */
export function buildWheel() {
  const project = readProject(readFileSync(join(folder, 'pyproject.toml'), 'utf8'));
  const base = `${project.name.replaceAll('-', '_')}-${project.version}`;
  const info = `${base}.dist-info`;
  const files = [
    ...readSources(),
    { path: `${info}/METADATA`, body: Buffer.from(metadata(project)) },
    {
      path: `${info}/WHEEL`,
      body: Buffer.from('Wheel-Version: 1.0\nGenerator: agentlens\nRoot-Is-Purelib: true\nTag: py3-none-any\n'),
    },
  ];
  const record = `${info}/RECORD`;
  const lines = files.map(({ path, body }) => `${path},sha256=${urlSafe(sha256(body))},${body.length}`);
  const body = zip([...files, { path: record, body: Buffer.from(`${[...lines, `${record},,`].join('\n')}\n`) }]);
  return {
    name: project.name,
    version: project.version,
    requiresPython: project['requires-python'],
    file: `${base}-py3-none-any.whl`,
    body,
  };
}

function readSources() {
  const source = join(folder, 'src');
  return readdirSync(join(source, PACKAGE), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.pyc$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((file) => ({ path: file.slice(source.length + 1).replaceAll('\\', '/'), body: readFileSync(file) }));
}

/** Reads the tables [project] and [project.optional-dependencies], whose values are strings and lists of strings. */
function readProject(text) {
  const project = readTable(text, 'project');
  return { ...project, extras: readTable(text, 'project.optional-dependencies') };
}

function readTable(text, name) {
  const start = text.indexOf(`[${name}]\n`);
  if (start < 0) throw new Error(`pyproject.toml has no [${name}]`);
  const body = text.slice(start + name.length + 3).split(/^\[/m, 1)[0];
  // Without escapes and line breaks inside of a list, a TOML value of these kinds is JSON.
  const entries = [...body.matchAll(/^([\w-]+) = (.+)$/gm)].map(([, key, value]) => [key, JSON.parse(value)]);
  return Object.fromEntries(entries);
}

function metadata(project) {
  const extras = Object.entries(project.extras).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = [
    'Metadata-Version: 2.4',
    `Name: ${project.name}`,
    `Version: ${project.version}`,
    `Summary: ${project.description}`,
    `License-Expression: ${project.license}`,
    `Keywords: ${project.keywords.join(',')}`,
    ...project.classifiers.map((classifier) => `Classifier: ${classifier}`),
    `Requires-Python: ${project['requires-python']}`,
    ...project.dependencies.map((requirement) => `Requires-Dist: ${requirement}`),
    ...extras.flatMap(([extra, requirements]) => [
      `Provides-Extra: ${extra}`,
      ...requirements.map((requirement) => `Requires-Dist: ${withExtra(requirement, extra)}`),
    ]),
    'Description-Content-Type: text/markdown',
  ];
  return `${lines.join('\n')}\n\n${readFileSync(join(folder, project.readme), 'utf8')}`;
}

function withExtra(requirement, extra) {
  const [what, marker] = requirement.split(/\s*;\s*/, 2);
  return marker === undefined ? `${what}; extra == '${extra}'` : `${what}; (${marker}) and extra == '${extra}'`;
}

function sha256(body) {
  return createHash('sha256').update(body).digest('base64');
}

function urlSafe(base64) {
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
