/** Entry point for code that executes actions; does not load the conditions. */

export { outcomeOfSilence, readRetryAfter } from './actions/http-outcome.ts';
export { ACTIONS, mapActionSecrets } from './actions/index.ts';
export { postWebhook, signWebhook, webhookHeaders } from './actions/notify-webhook/post-webhook.ts';
