import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifests(folder: 'libs' | 'services'): Manifest[] {
  return readdirSync(join(root, folder)).map(
    (name) => JSON.parse(readFileSync(join(root, folder, name, 'package.json'), 'utf8')) as Manifest,
  );
}

const short = (name: string) => name.replace('@agentlens/', '');
const own = (manifest: Manifest) =>
  Object.keys(manifest.dependencies ?? {})
    .filter((name) => name.startsWith('@agentlens/'))
    .map(short);

/** What each lib may stand on; imports run downwards only. */
const LIBS: Readonly<Record<string, readonly string[]>> = {
  contracts: [],
  guardrails: ['contracts'],
  runs: ['contracts'],
  people: ['contracts', 'guardrails'],
  routing: ['contracts'],
  egress: [],
  messaging: ['contracts'],
  state: ['contracts', 'guardrails'],
  replay: ['contracts', 'guardrails', 'state'],
  database: ['contracts', 'log'],
  operations: ['contracts'],
  otlp: ['contracts'],
  prices: ['contracts'],
  'model-api': [],
  shell: [],
  log: ['contracts'],
  'log-verify': [],
  platform: ['contracts', 'operations', 'guardrails', 'messaging', 'state', 'database', 'egress', 'prices'],
  decisions: ['contracts', 'guardrails', 'messaging', 'platform', 'state'],
  testing: ['contracts', 'model-api'],
  sdk: ['contracts', 'guardrails'],
  client: ['operations'],
  mcp: ['client', 'contracts'],
  agent: ['contracts', 'guardrails', 'egress', 'sdk', 'shell'],
};

const INFRASTRUCTURE = /^(@nestjs\/|@nats-io\/|kysely$|pg$|ioredis$|undici$|fastify$)/;

describe('the workspace', () => {
  it.each(manifests('libs').map((manifest) => [manifest.name, manifest] as const))(
    '%s stands only on the libs below it',
    (name, manifest) => {
      const allowed = LIBS[short(name)];
      expect(allowed).toBeDefined();
      expect(own(manifest).filter((dependency) => !allowed?.includes(dependency))).toEqual([]);
    },
  );

  it.each([
    'contracts',
    'otlp',
    'operations',
    'guardrails',
    'runs',
    'people',
    'routing',
    'replay',
    'shell',
    'model-api',
    'log',
    'log-verify',
  ])('%s knows no infrastructure', (name) => {
    const manifest = manifests('libs').find((candidate) => short(candidate.name) === name);
    expect(Object.keys(manifest?.dependencies ?? {}).filter((dependency) => INFRASTRUCTURE.test(dependency))).toEqual(
      [],
    );
  });

  it('has services that never import another service, except standalone, which composes them', () => {
    const services = manifests('services');
    const names = services.map((manifest) => short(manifest.name));
    for (const manifest of services) {
      const others = own(manifest).filter((dependency) => names.includes(dependency));
      if (short(manifest.name) === 'standalone')
        expect(others.sort()).toEqual(names.filter((name) => name !== 'standalone').sort());
      else expect(others).toEqual([]);
    }
  });

  it.each(['libs/state', 'libs/platform', 'services/ingest', 'services/run-tracking', 'services/action-dispatcher'])(
    '%s does not load the catalog of conditions, which it has no use for: 5 MB of each process',
    (folder) => {
      const loads = /^(?:import|export) (?!type)[^;]*? from '@agentlens\/guardrails';/m;
      const sources = readdirSync(join(root, folder, 'src'), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts') && !/\.(spec|contract|testing)\.ts$/.test(file))
        .filter((file) => loads.test(readFileSync(join(root, folder, 'src', file), 'utf8')));
      expect(sources).toEqual([]);
    },
  );

  it('uses the testing lib only in tests', () => {
    for (const manifest of [...manifests('libs'), ...manifests('services')])
      expect(own(manifest)).not.toContain('testing');
  });

  it('pins every dependency exactly, and each to one version', () => {
    const seen = new Map<string, string>();
    for (const manifest of [...manifests('libs'), ...manifests('services')]) {
      for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
        expect(`${name}@${version}`).toMatch(/@\d+\.\d+\.\d+[\w.-]*$/);
        expect(`${name}@${seen.get(name) ?? version}`).toBe(`${name}@${version}`);
        seen.set(name, version);
      }
    }
  });

  it('says of every install script whether it runs, by name: npm 12 runs no other', () => {
    const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8')) as unknown;
    const { packages } = read('package-lock.json') as { packages: Record<string, { hasInstallScript?: boolean }> };
    const { allowScripts } = read('package.json') as { allowScripts: Record<string, boolean> };
    const scripted = Object.entries(packages).filter(
      ([path, { hasInstallScript }]) => path !== '' && hasInstallScript === true,
    );
    // Without addresses in the lockfile npm matches no versions, only names.
    const names = scripted.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
    expect(Object.keys(allowScripts).sort()).toEqual([...new Set(names)].sort());
  });
});

describe('the domain libs', () => {
  it.each([
    'contracts',
    'otlp',
    'operations',
    'guardrails',
    'runs',
    'people',
    'routing',
    'replay',
    'shell',
    'model-api',
    'log',
    'log-verify',
  ])('%s takes time and chance as arguments', (lib) => {
    const folder = join(root, 'libs', lib, 'src');
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (file) =>
        file.endsWith('.ts') && file !== 'bin.ts' && !file.endsWith('.spec.ts') && !file.endsWith('.testing.ts'),
    );
    for (const file of sources) {
      const source = readFileSync(join(folder, file), 'utf8');
      expect({ file, impure: source.match(/Date\.now\(|new Date\(\)|Math\.random|node:(fs|net|http)/)?.[0] }).toEqual({
        file,
        impure: undefined,
      });
    }
  });
});

/** The SDK's own word for what a user imports stays, beside the API's: both are what their readers look for. */
const PUBLIC_IN_SDK = ['Run', 'DetectorName'];
/** What the SDK sends and gets it declares itself, so that it needs no other lib; generated code is not named by us. */
const NAMED_ELSEWHERE = /generated\/|libs\/agent\/|libs\/sdk\/src\/wire\/|\.(spec|contract|testing)\.ts$/;
/** Words that say where something is kept and not what it does. */
const FURNITURE = /(Desk|Shelf|Vault|Keeper|Drawer|Cabinet|Standing|Errand)s?$/;

const sources = (folder: string, wanted = /\.ts$/, others = /(^|\/)(dist|node_modules|test)\//): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => wanted.test(path) && !others.test(path))
    .map((path) => join(folder, path));

describe('exported types', () => {
  const declarations = ['libs', 'services', 'proof']
    .flatMap((folder) => sources(join(root, folder)))
    .filter((path) => !NAMED_ELSEWHERE.test(path))
    .flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      const found = text.matchAll(/^export (?:abstract )?(?:class|interface|type|enum) (\w+)/gm);
      return [...found].map(([, name = '']) => ({ name, path: path.slice(root.length + 1) }));
    });

  it('each have a name of their own', () => {
    const byName = Map.groupBy(declarations, ({ name }) => name);
    expect(byName.size).toBeGreaterThan(500);
    const twice = [...byName].filter(([name, found]) => found.length > 1 && !PUBLIC_IN_SDK.includes(name));
    expect(twice.map(([name, found]) => `${name}: ${found.map(({ path }) => path).join(', ')}`)).toEqual([]);
  });

  it('are named for what they do', () => {
    expect(declarations.filter(({ name }) => FURNITURE.test(name))).toEqual([]);
  });
});

describe('the folders of a service', () => {
  it.each(readdirSync(join(root, 'services')))('%s import each other one way only', (service) => {
    const src = join(root, 'services', service, 'src');
    const folders = new Map<string, Set<string>>();
    for (const path of sources(src).filter((file) => !/\.(spec|testing)\.ts$/.test(file))) {
      const [folder = '', ...inside] = relative(src, path).split('/');
      // Files beside the folders compose them.
      if (inside.length === 0) continue;
      const targets = folders.get(folder) ?? new Set();
      folders.set(folder, targets);
      for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(/from '(\.\.?\/[^']+)'/g)) {
        const [other = '', ...rest] = relative(src, join(dirname(path), target)).split('/');
        if (other !== folder && rest.length > 0) targets.add(other);
      }
    }
    // What stands on nothing that is left is taken away; what remains stands on itself.
    for (let before = -1; before !== folders.size; ) {
      before = folders.size;
      for (const [folder, targets] of folders)
        if (![...targets].some((other) => folders.has(other))) folders.delete(folder);
    }
    expect([...folders]).toEqual([]);
  });
});

describe('exports', () => {
  /** Published, or read as a whole: what no file here imports, other projects may. */
  const published =
    /libs\/(agent|sdk|operations|client|testing)\/|generated\/|\.(spec|contract|testing)\.ts$|index\.ts$/;

  it('of values are imported by some other file', () => {
    const folders = [
      'libs',
      'services',
      'proof',
      'test',
      'scripts',
      'apps/cli/src',
      'apps/console/src',
      'integrations/js',
    ];
    const files = folders.flatMap((folder) =>
      sources(join(root, folder), /\.(ts|tsx|mjs)$/, /(^|\/)(dist|node_modules)\//),
    );
    const users = new Map<string, Set<string>>();
    for (const path of files.filter((file) => !file.endsWith('/src/index.ts'))) {
      for (const [word] of readFileSync(path, 'utf8').matchAll(/[A-Za-z_$][\w$]*/g)) {
        users.set(word, (users.get(word) ?? new Set()).add(path));
      }
    }
    const unused = files
      .filter((path) => /\/(libs|services)\/[^/]+\/src\//.test(path) && path.endsWith('.ts') && !published.test(path))
      .flatMap((path) => {
        const found = readFileSync(path, 'utf8').matchAll(
          /^export (?:abstract )?(?:async )?(?:class|enum|function\*?|const) (\w+)/gm,
        );
        return [...found].map(([, name = '']) => ({ name, path }));
      })
      .filter(({ name, path }) => [...(users.get(name) ?? [])].every((user) => user === path))
      .map(({ name, path }) => `${path.slice(root.length + 1)}: ${name}`);
    expect(users.size).toBeGreaterThan(1_000);
    expect(unused).toEqual([]);
  });
});

describe('subjects', () => {
  it('are spelled in the catalog and nowhere else', () => {
    const subject =
      /['"`](agent\.events|guardrail\.triggered|delivery\.settled|control\.(rules|directive|keys)|run\.changed|key\.used|dead\.letter)\./;
    for (const folder of ['libs', 'services']) {
      const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter(
        (file) =>
          file.endsWith('.ts') &&
          !file.includes('node_modules') &&
          !file.includes('/dist/') &&
          !file.endsWith('.spec.ts') &&
          !file.endsWith('.testing.ts'),
      );
      for (const file of files.filter(
        (name) => !name.startsWith('contracts/') && !name.includes('/test/') && !name.endsWith('.contract.ts'),
      )) {
        expect({ file, spelled: readFileSync(join(root, folder, file), 'utf8').match(subject)?.[0] }).toEqual({
          file,
          spelled: undefined,
        });
      }
    }
  });
});

describe('apps/cli', () => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');

  it('knows the platform as every other client does, except where it reads the broker or runs tests of rules', () => {
    expect(own(JSON.parse(read('apps/cli/package.json')) as Manifest)).toEqual([
      'client',
      'guard',
      'log-verify',
      'mcp',
      'messaging',
      'replay',
    ]);
    const all = readdirSync(join(root, 'apps/cli/src'), { recursive: true, encoding: 'utf8' });
    const files = all.filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'));
    const readers = files.filter((file) => /@agentlens\/messaging|@nats-io/.test(read(`apps/cli/src/${file}`)));
    expect(readers.sort()).toEqual([
      'commands/backup/stream-snapshots.ts',
      'commands/backup/streams.ts',
      'commands/nats.ts',
    ]);
  });

  it('pins every dependency exactly', () => {
    const { dependencies, devDependencies } = JSON.parse(read('apps/cli/package.json')) as Manifest;
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      expect(`${name}@${version}`).toMatch(/@\d+\.\d+\.\d+[\w.-]*$/);
    }
  });
});

describe('apps/console', () => {
  const read = (file: string) => readFileSync(join(root, file), 'utf8');

  it('has a lockfile of its own: what its build needs is no part of the platform', () => {
    const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] };
    expect(workspaces).not.toContain('apps/*');
    expect(workspaces).not.toContain('apps/console');
    const { packages } = JSON.parse(read('apps/console/package-lock.json')) as { packages: Record<string, object> };
    expect(Object.keys(packages)).toContain('node_modules/react');
  });

  it('pins every dependency exactly', () => {
    const { dependencies, devDependencies } = JSON.parse(read('apps/console/package.json')) as Manifest;
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      expect(`${name}@${version}`).toMatch(/@\d+\.\d+\.\d+[\w.-]*$/);
    }
  });

  it('is built from the sources that are here', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'apps/console/stamp.mjs'), '--check']);
    expect({ status, said: stderr.toString() }).toEqual({ status: 0, said: '' });
  });

  it('is the one that the pictures of README and documentation show: npm run pictures', () => {
    const read = (file: string) => readFileSync(join(root, file), 'utf8');
    expect(read('docs/pictures.sha256')).toBe(read('apps/console/built/sources.sha256'));
  });

  it('comes along in the image of the service that serves it', () => {
    expect(read('deploy/docker/Dockerfile')).toContain('/app/apps/console/built ./apps/console/built');
  });
});

describe('the checks of a change', () => {
  it('call scripts that are there', () => {
    const called = [
      ...readFileSync(join(root, '.ci/run'), 'utf8').matchAll(/node ((?:scripts|interop)\/\S+\.mjs)/g),
    ].map(([, file = '']) => file);
    expect(called.length).toBeGreaterThan(5);
    expect(called.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });
});
