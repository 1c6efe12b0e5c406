/** What it takes to carry actions out, without the conditions that lead to them. */
export { ACTIONS } from './actions/index.ts';
export { postWebhook } from './actions/notify-webhook/post-webhook.ts';
export { mapActionSecrets } from './rules/action-secrets.ts';
