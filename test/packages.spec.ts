import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { DEFAULT_PLATFORM, findPackage, findWheel, RELEASE } from '../libs/contracts/src/packages.ts';
import { collectCommands } from '../scripts/packages/shown-commands.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
/** The guard is part of the command line. */
const ADAPTERS = globSync('integrations/js/*/package.json', { cwd: root })
  .map((file) => JSON.parse(read(file)) as { name: string; version: string; exports?: object })
  .filter(({ name, exports }) => exports !== undefined && name !== '@agentlens/guard');
const NAMES = ['sdk', 'agent', 'cli', 'log-verify', ...ADAPTERS.map(({ name }) => name.replace('@agentlens/', ''))];
const COMMANDS = collectCommands(root);
/** A name without an address, which the public registry would answer. */
const BARE = /(?<![\w/:])(?:@agentlens\/[\w-]+|agentlens-guard)(?![\w-]*@http|:registry)/;

describe('the packages of this release', () => {
  it('have the version of the repository', () => {
    expect((JSON.parse(read('package.json')) as { version: string }).version).toBe(RELEASE);
    expect(read('python/pyproject.toml')).toContain(`version = "${RELEASE}"`);
    expect(ADAPTERS.length).toBeGreaterThan(8);
    expect(ADAPTERS.filter(({ version }) => version !== RELEASE)).toEqual([]);
  });
});

describe('the install commands of the documentation', () => {
  it('are found', () => {
    expect(COMMANDS.length).toBeGreaterThan(25);
    expect(new Set(COMMANDS.map(({ file }) => file)).size).toBeGreaterThan(12);
  });

  it('name no package of ours that a public registry would be asked for', () => {
    const byName = COMMANDS.filter(({ command }) => !command.includes('@agentlens:registry='));
    expect(byName.filter(({ command }) => BARE.test(command))).toEqual([]);
    const pages = [...new Set(COMMANDS.map(({ file }) => file))];
    expect(pages.filter((file) => /"@agentlens\/[\w-]+", "(?:mcp|--server)/.test(read(file)))).toEqual([]);
  });

  it('use the addresses of one place', () => {
    const addresses = [
      ...NAMES.map((name) => findPackage(name as 'cli', DEFAULT_PLATFORM)),
      findWheel(DEFAULT_PLATFORM),
    ];
    const used = COMMANDS.flatMap(({ file, command }) =>
      [...command.matchAll(/https?:\/\/\S*\/packages\/\S+?\.(?:tgz|whl)/g)].map(([address]) => ({ file, address })),
    );
    expect(used.length).toBeGreaterThan(15);
    expect(used.filter(({ address }) => !addresses.includes(address.replace(/^@agentlens\/\w+@/, '')))).toEqual([]);
  });
});
