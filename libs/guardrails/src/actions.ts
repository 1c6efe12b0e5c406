/** Entry point for code that executes actions; does not load the conditions. */
export { ACTIONS, mapActionSecrets } from './actions/index.ts';
export { postWebhook } from './actions/notify-webhook/post-webhook.ts';
