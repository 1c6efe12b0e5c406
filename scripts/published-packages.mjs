// The packages that this repository publishes and the platform serves, and how each is built.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makePackage as makeCli } from '../apps/cli/build/package.mjs';
import { makeAdapterPackage } from '../integrations/js/build/package.mjs';
import { makePackage as makeAgent } from '../libs/agent/build/package.mjs';
import { makePackage as makeVerifier } from '../libs/log-verify/build/package.mjs';
import { makePackage as makeSdk } from '../libs/sdk/build/package.mjs';

/** `make(folder)` returns the tarball. */
export const PACKAGES = [
  { name: '@agentlens/sdk', make: makeSdk },
  { name: '@agentlens/agent', make: makeAgent },
  { name: '@agentlens/cli', make: makeCli },
  { name: '@agentlens/log-verify', make: makeVerifier },
];

const workspace = join(import.meta.dirname, '../integrations/js');
/** Folders beside the adapters that are no package of their own; the guard is part of the command line. */
const NOT_PUBLISHED = ['build', 'conformance', 'examples', 'guard', 'guard-hosts'];

/** The adapters of JavaScript frameworks. */
export const ADAPTERS = globSync('*/package.json', { cwd: workspace })
  .map((file) => dirname(file))
  .filter((name) => !NOT_PUBLISHED.includes(name))
  .toSorted((a, b) => (a < b ? -1 : 1))
  .map((name) => ({
    name: JSON.parse(readFileSync(join(workspace, name, 'package.json'), 'utf8')).name,
    make: (folder) => makeAdapterPackage(name, folder),
  }));
