import { setEnabled } from './set-enabled.ts';

export const define = setEnabled(false);
