/** Members that are never written, wherever they stand in a log entry up to two levels deep. */
export const REDACTED_PATHS = ['authorization', 'apiKey', 'secret', 'password', 'token', 'headers'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** API keys of ours and of AgentLens, webhook secrets, bearer tokens, passwords inside URLs. */
const SECRETS: readonly [RegExp, string][] = [
  [/\bagk_[a-z]+_([0-9A-Za-z]{8})_[0-9A-Za-z]+/g, 'agk_***_$1_***'],
  [/\bals_[0-9a-f]{16,}/g, 'als_***'],
  [/\bwhsec_[\w+/=-]+/g, 'whsec_***'],
  [/\bBearer +[^\s"\\]+/gi, 'Bearer ***'],
  [/(\w+:\/\/[^:@/\s"]+):[^@/\s"]+@/g, '$1:***@'],
];

/** The text without anything that looks like a secret; what a key belongs to stays readable. */
export function withoutSecrets(text: string): string {
  return SECRETS.reduce((rest, [pattern, instead]) => rest.replace(pattern, instead), text);
}
