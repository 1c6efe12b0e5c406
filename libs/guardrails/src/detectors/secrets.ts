/**
 * Patterns of secrets, shared by rules, alerts, logs and agents. Small and without imports, so that a browser can load
 * it. Every pattern matches in linear time: a repetition is bounded, cannot match what follows it, or starts only where
 * no similar text precedes it.
 */

/** PEM, complete or truncated. Ends with the string that contains it, also inside JSON. */
export const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^"]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|(?=")|$)/g;

/** JSON Web Token, signed or not. */
export const JWT = /(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g;

/**
 * Service keys, recognized by their provider's prefix: OpenAI and Anthropic, GitHub (two), GitLab, Slack, AWS, Google,
 * Stripe, npm, Hugging Face, SendGrid, webhooks, and AgentLens (three).
 */
export const SECRET_KEY =
  /\b(?:sk-[\w-]{20,}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|whsec_[A-Za-z0-9+/=_-]{16,}|agk_[a-z]{1,10}_[0-9A-Za-z]{8}_[0-9A-Za-z]{16,}|al_[a-z0-9]{2,20}_[\w-]{16,}|als_[0-9a-f]{16,})/g;

/** Endings of keys whose values are secret in any format. */
const SECRET_NAME =
  /(?:password|passwd|passphrase|secret|token|apikey|accesskey|privatekey|authorization|credentials?|cookie|cvv|cvc)$/;

/** Returns true if a key's value is secret, regardless of its format. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(
    name
      .slice(-40)
      .toLowerCase()
      .replaceAll(/[^a-z]/g, ''),
  );
}
