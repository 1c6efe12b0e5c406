import { TRANSPILE } from './scripts/transpile-options.mjs';

/** One configuration for the whole repository: sources are read directly, no build is needed. */
export default {
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['@agentlens/source', 'node', 'node-addons'] },
  testMatch: [
    '<rootDir>/{libs,services}/*/{src,test}/**/*.spec.ts',
    '<rootDir>/apps/cli/src/**/*.spec.ts',
    '<rootDir>/proof/src/**/*.spec.ts',
    '<rootDir>/test/**/*.spec.ts',
  ],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { ...TRANSPILE, sourceMaps: 'inline' }],
  },
  moduleNameMapper: process.env.PROOF_PROPERTY_SEED ? { '^fast-check$': '<rootDir>/test/seeded-fast-check.mjs' } : {},
  modulePathIgnorePatterns: ['<rootDir>/.*/dist/'],
  // Integration tests wait more than they compute; the default leaves a core idle.
  maxWorkers: '100%',
  // A worker keeps the modules of every file it ran. Restarting it between files keeps it below the heap limit.
  workerIdleMemoryLimit: '1536MB',
  // Only bounds how long a broken test hangs: whole ones take minutes where the machine does other work.
  testTimeout: 300_000,
  globalSetup: '<rootDir>/test/global-setup.mjs',
  globalTeardown: '<rootDir>/test/global-teardown.mjs',
};
