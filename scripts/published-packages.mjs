// The packages that this workspace publishes, and how each is made. The adapters of frameworks are made in
// integrations/js, which has the frameworks' declarations.
import { makePackage as makeCli } from '../apps/cli/build/package.mjs';
import { makePackage as makeAgent } from '../libs/agent/build/package.mjs';
import { makePackage as makeSdk } from '../libs/sdk/build/package.mjs';

/** `make(folder)` answers the tarball. */
export const PACKAGES = [
  { name: '@agentlens/sdk', make: makeSdk },
  { name: '@agentlens/agent', make: makeAgent },
  { name: '@agentlens/cli', make: makeCli },
];
