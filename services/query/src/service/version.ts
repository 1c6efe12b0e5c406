import { createRequire } from 'node:module';

const manifest: { version: string } = createRequire(import.meta.url)('../../package.json');

/** Version of this service. */
export const VERSION = manifest.version;
