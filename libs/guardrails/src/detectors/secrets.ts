/**
 * What secrets look like, for everything that shows, keeps or judges text: rules, alerts, logs and agents. Small and
 * without imports, so that a browser may load it. Every pattern is read in linear time: a repetition is bounded, cannot
 * also match what follows it, or begins only where nothing like it stands before.
 */

/** PEM, whole or cut off; ends with the text it stands in, also inside of JSON. */
export const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^"]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|(?=")|$)/g;

/** JSON Web Token, signed or not. */
export const JWT = /(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g;

/**
 * Key of a service, by the prefix that its provider gives: OpenAI and Anthropic, GitHub (two), GitLab, Slack, AWS, Google,
 * Stripe, npm, Hugging Face, SendGrid, webhooks, and ours (three).
 */
export const SECRET_KEY =
  /\b(?:sk-[\w-]{20,}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|whsec_[A-Za-z0-9+/=_-]{16,}|agk_[a-z]{1,10}_[0-9A-Za-z]{8}_[0-9A-Za-z]{16,}|al_[a-z0-9]{2,20}_[\w-]{16,}|als_[0-9a-f]{16,})/g;

/** What a member is called that holds a secret, whatever it looks like. */
const SECRET_NAME =
  /(?:password|passwd|passphrase|secret|token|apikey|accesskey|privatekey|authorization|credentials?|cookie|cvv|cvc)$/;

/** True for the name of a member that holds a secret, whatever the secret looks like. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(
    name
      .slice(-40)
      .toLowerCase()
      .replaceAll(/[^a-z]/g, ''),
  );
}
