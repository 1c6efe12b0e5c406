// The packages that this workspace publishes, and how each is built. The framework adapters are built in
// integrations/js, which has the frameworks' type declarations.
import { makePackage as makeCli } from '../apps/cli/build/package.mjs';
import { makePackage as makeAgent } from '../libs/agent/build/package.mjs';
import { makePackage as makeSdk } from '../libs/sdk/build/package.mjs';

/** `make(folder)` returns the tarball. */
export const PACKAGES = [
  { name: '@agentlens/sdk', make: makeSdk },
  { name: '@agentlens/agent', make: makeAgent },
  { name: '@agentlens/cli', make: makeCli },
];
