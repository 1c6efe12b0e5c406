import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TOPICS } from '@agentlens/contracts';
import { OPERATIONS } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found);
const without = (known: Iterable<string>, names: Iterable<string>) => {
  const there = new Set(known);
  return [...new Set(names)].filter((name) => !there.has(name));
};

const MANUALS = globSync(
  '{README,CONTRIBUTING,SECURITY,python/README,docs/**/*,deploy/**/*,libs/*/README,libs/guardrails/src/*/**/README}.md',
  {
    cwd: root,
  },
);
const pages = MANUALS.map((file) => [file, read(file)] as const);
const SOURCES = globSync('{libs,services,proof}/*/{src,test}/**/*.ts', { cwd: root }).concat(
  globSync('{test,proof/src}/**/*.ts', { cwd: root }),
);
const specs = new Set(SOURCES.filter((file) => file.endsWith('.spec.ts')));
const sources = SOURCES.filter((file) => !specs.has(file)).map((file) => [file, read(file)] as const);
const inSources = (pattern: RegExp, where = /./) =>
  sources.filter(([file]) => where.test(file)).flatMap(([, text]) => matches(text, pattern));

/** `a{b,c}d` is `abd` and `acd`. */
function expanded(path: string): string[] {
  const [whole, options] = /\{([^{}]*,[^{}]*)\}/.exec(path) ?? [];
  if (whole === undefined || options === undefined) return [path];
  return options.split(',').flatMap((option) => expanded(path.replace(whole, option)));
}

/** GitHub's anchor of a heading. */
const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/** Read by the command line and by the programs of this repository, not by the platform. */
const PROGRAM_SETTINGS = [
  'AGENTLENS_API_KEY',
  'AGENTLENS_URL',
  'AGENTLENS_PROFILE',
  'AGENTLENS_ACTOR',
  'AGENTLENS_BENCH_BASE',
];
/** Error types and codes of refused model calls. */
const OF_REFUSALS = new Set(['agentlens_policy', 'agentlens_budget', 'agentlens_stopped']);
/** Attributes that an instrumented agent may set. */
const OF_SPANS = new Set(['agentlens_run_id', 'agentlens_agent_id']);
/** Read by the Python package. */
const PYTHON_SETTINGS = matches(read('python/src/agentlens/_settings.py'), /_environment\(([^)]+)\)/g)
  .flatMap((names) => matches(names, /"([A-Z_]+)"/g))
  .map((name) => `AGENTLENS_${name}`);
/** `agentlens.integrations.crewai` is no metric. */
const isPythonModule = (name: string) =>
  ['.py', '/__init__.py'].some((end) => existsSync(join(root, `python/src/${name.replaceAll('.', '/')}${end}`)));
/** Names in the database look like those of metrics. */
/** The file of the Python package begins like a metric. */
const WHEEL = 'agentlens_guard';
const IN_DATABASE = new Set(['agentlens_query', 'agentlens_run_tracking', 'agentlens_reader', 'agentlens_agent']);

/** Tools of the MCP server. */
const MCP_TOOLS = new Set(
  inSources(/^ {2}name: '(\w+)',$/gm, /libs\/mcp\/src\/tools\//).map((name) => `agentlens_${name}`),
);

/** Metrics of a gateway are named after the service that it runs in. */
const meters = inSources(/create\w*(?:Counter|Histogram|Gauge)\(\s*['`](agentlens[._][\w.${}]+)['`]/g).map((name) =>
  name.replace(/\$\{service\}/, 'ingest').replaceAll('.', '_'),
);

/** `GET /api/runs/:id` as a pattern that `GET /api/runs/{id}` and `GET /api/runs/run-1` match. */
const routes = OPERATIONS.map(
  ({ method, path }) =>
    new RegExp(`^${method.toUpperCase()} ${path.replaceAll(/:\w+/g, '(?:[\\w:.-]+|\\{[^}]+\\})')}$`),
);
const unserved = (named: readonly string[]) => named.filter((route) => !routes.some((known) => known.test(route)));

describe.each(pages)('%s', (file, text) => {
  it('links to pages and headings that exist', () => {
    const links = matches(text, /\]\(([^)\s]+)\)/g).filter((link) => !/^[a-z]+:/.test(link));
    const broken = links.filter((link) => {
      const [path = '', heading] = link.split('#');
      const target = path === '' ? file : join(dirname(file), path);
      if (!existsSync(join(root, target))) return true;
      return (
        heading !== undefined &&
        !matches(read(target), /^#+ (.+)$/gm)
          .map(anchor)
          .includes(heading)
      );
    });
    expect(broken).toEqual([]);
  });

  it('names files and folders that exist', () => {
    const named = matches(text, /`((?:libs|services|deploy|docs|scripts|proto|proof|test)\/[\w./{},*-]+)`/g);
    // What a build makes is not there before it.
    const kept = named.flatMap(expanded).filter((path) => !path.split('/').includes('dist'));
    const missing = kept.filter((path) => globSync(path, { cwd: root }).length === 0);
    // A page that says how to add something names what is not there yet.
    if (!/adding-an?-/.test(file)) expect(missing).toEqual([]);
  });

  it('names specs that exist', () => {
    const named = matches(text, /`([\w./{},-]+\.spec\.ts)`/g).flatMap(expanded);
    const missing = named.filter((name) => ![...specs].some((spec) => `/${spec}`.endsWith(`/${name}`)));
    if (!/adding-an?-/.test(file)) expect(missing).toEqual([]);
  });

  it('names scripts that can be run', () => {
    const of = (manifest: string) => Object.keys((JSON.parse(read(manifest)) as { scripts: object }).scripts);
    const run = matches(text, /\bnpm run ([\w:-]+)(?! -w)\b/g);
    const manifests = ['package.json', 'libs/sdk/package.json', 'apps/console/package.json'];
    expect(without(manifests.flatMap(of), run)).toEqual([]);
  });

  it('names settings that are read', () => {
    const known = matches(read('.env.example'), /^# ?([A-Z][A-Z_]+)=/gm);
    expect(known.length).toBeGreaterThan(15);
    expect(
      without([...known, ...PROGRAM_SETTINGS, ...PYTHON_SETTINGS], matches(text, /\b(AGENTLENS_[A-Z_]+[A-Z])\b/g)),
    ).toEqual([]);
  });

  it('names metrics that some service has', () => {
    expect(meters.length).toBeGreaterThan(30);
    const named = [
      ...matches(text, /\b(agentlens_[a-z_]+[a-z])\b/g),
      ...matches(text, /`(agentlens\.[a-z]+\.[a-z_.]+)`/g)
        .filter((name) => !isPythonModule(name))
        .map((name) => name.replaceAll('.', '_')),
    ]
      .filter(
        (name) =>
          name !== WHEEL &&
          !IN_DATABASE.has(name) &&
          !OF_SPANS.has(name) &&
          !OF_REFUSALS.has(name) &&
          !MCP_TOOLS.has(name),
      )
      .map((name) => name.replace(/_(total|bucket|count|sum)$/, ''));
    expect(without(meters, named)).toEqual([]);
  });

  it('names routes that are served', () => {
    const named = matches(text, /\b((?:GET|POST|PUT|DELETE) \/(?:api|v1)\/(?:[\w/:.-]|\{[^}]+\})*)/g);
    expect(unserved(named.map((route) => route.replace(/[.:/-]+$/, '')))).toEqual([]);
  });
});

describe('docs/operations.md', () => {
  it('names counters that exist for dropped data', () => {
    const [, , section = ''] = /(## Counters for dropped data)([\s\S]*?)\n## /.exec(read('docs/operations.md')) ?? [];
    const cells = matches(section, /^\| (`[^|]+) \|/gm);
    const counters = cells.flatMap((cell) => matches(cell, /`([a-z_]+)[`{]/g)).map((name) => `agentlens_${name}`);
    expect(counters.length).toBeGreaterThan(10);
    expect(without(meters, counters)).toEqual([]);
  });
});

describe('docs/architecture.md', () => {
  it('lists every topic', () => {
    const listed = matches(read('docs/architecture.md'), /`([a-z]+\.[a-z]+)\.<[a-z]+>/g);
    expect(
      without(
        listed,
        TOPICS.map(({ name }) => name),
      ),
    ).toEqual([]);
  });
});
