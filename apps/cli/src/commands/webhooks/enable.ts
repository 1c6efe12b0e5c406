import { setWebhookEnabled } from './set-enabled.ts';

export const define = setWebhookEnabled(true);
