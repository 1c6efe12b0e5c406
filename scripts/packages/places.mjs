import { fileURLToPath } from 'node:url';

/** Where the service that serves the packages looks for them. */
export const SHELF = fileURLToPath(new URL('../../dist/packages', import.meta.url));

/** Exists while the first packages are being made: requests wait. */
export const PENDING = `${SHELF}.pending`;
