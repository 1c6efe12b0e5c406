import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { RELEASE } from '../libs/contracts/src/packages.ts';
import { dateChangelog, setVersion } from '../scripts/packages/set-version.ts';

const root = join(import.meta.dirname, '..');
const NEXT = '12.34.56';
const FILES = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(md|mjs|ts|tsx|py|toml|ya?ml)$|package(-lock)?\.json$/.test(file))
  .filter((file) => !file.startsWith('apps/console/built/'));

describe('npm run release', () => {
  it('leaves no install command, image or package of this repository in the old version', () => {
    const old = RELEASE.replaceAll('.', '\\.');
    const stale = new RegExp(
      `/packages/[a-z_-]+-${old}\\.tgz|_guard-${old}-py3|agentlens/[a-z-]+:${old}|"@agentlens/[a-z-]+": "\\^?${old}"`,
    );
    const next = FILES.map((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return { file, text, next: setVersion(file, text, RELEASE, NEXT) };
    });
    const changed = next.filter(({ text, next: other }) => other !== text).map(({ file }) => file);
    expect(changed).toEqual(
      expect.arrayContaining([
        'README.md',
        'package.json',
        'package-lock.json',
        'integrations/js/package-lock.json',
        'deploy/helm/agentlens/Chart.yaml',
        'libs/contracts/src/packages.ts',
        'python/pyproject.toml',
        'python/src/agentlens/_version.py',
      ]),
    );
    // Overlays are rendered from the chart; the changelog, ADRs and release notes name old versions on purpose.
    const history = /^(CHANGELOG\.md|RELEASE\.md|docs\/(adr|releases)\/|deploy\/kubernetes\/overlays\/)/;
    expect(next.filter((each) => !history.test(each.file) && stale.test(each.next)).map(({ file }) => file)).toEqual(
      [],
    );
  });

  it('sets the version of each package of this repository and of no other', () => {
    for (const file of FILES.filter((each) => each.endsWith('/package.json'))) {
      const text = readFileSync(join(root, file), 'utf8');
      const { name, version } = JSON.parse(text) as { name: string; version?: string };
      const next = JSON.parse(setVersion(file, text, RELEASE, NEXT)) as { version?: string };
      expect({ file, version: next.version }).toEqual({
        file,
        version: version !== undefined && name.startsWith('@agentlens/') && version === RELEASE ? NEXT : version,
      });
    }
  });

  it('keeps foreign packages of a lockfile that have the same version', () => {
    const lock = {
      name: 'agentlens',
      version: RELEASE,
      packages: {
        '': { name: 'agentlens', version: RELEASE },
        'libs/sdk': {
          name: '@agentlens/sdk',
          version: RELEASE,
          dependencies: { '@agentlens/log': RELEASE, ms: RELEASE },
        },
        'node_modules/ms': { version: RELEASE },
      },
    };
    const next = JSON.parse(setVersion('package-lock.json', JSON.stringify(lock), RELEASE, NEXT)) as typeof lock;
    expect(next.version).toBe(NEXT);
    expect(next.packages['libs/sdk'].dependencies).toEqual({ '@agentlens/log': NEXT, ms: RELEASE });
    expect(next.packages['node_modules/ms'].version).toBe(RELEASE);
  });

  it('dates the section of the changelog, and says if there is none', () => {
    const dated = dateChangelog('# Changelog\n\n## 1.2.3 (unreleased)\n', '1.2.3', '2026-01-02');
    expect(dated).toContain('## 1.2.3, 2026-01-02');
    expect(() => dateChangelog('# Changelog\n', '1.2.3', '2026-01-02')).toThrow('no section "## 1.2.3 (unreleased)"');
  });
});
