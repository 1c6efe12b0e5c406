import { JWT, PRIVATE_KEY, SECRET_KEY } from '@agentlens/guardrails/detectors';

/** Members that are never written, wherever they stand in a log entry up to two levels deep. */
export const REDACTED_PATHS = ['authorization', 'apiKey', 'secret', 'password', 'token', 'headers'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** The public part of our own keys says whose they are. */
const OWN_KEY = /^agk_[a-z]+_([0-9A-Za-z]{8})_/;
/** What says the kind of any other key. */
const PREFIX = /^(?:[A-Za-z]{2,5}[_.-]|.{4})/;

/** Bearer tokens, passwords inside URLs. */
const CARRIED: readonly [RegExp, string][] = [
  [/\bBearer +[^\s"\\]+/gi, 'Bearer ***'],
  [/(\w+:\/\/[^:@/\s"]+):[^@/\s"]+@/g, '$1:***@'],
];

/** The text without anything that looks like a secret; what a key belongs to stays readable. */
export function withoutSecrets(text: string): string {
  const keyless = text.replace(PRIVATE_KEY, '[private_key]').replace(JWT, '[jwt]').replace(SECRET_KEY, masked);
  return CARRIED.reduce((rest, [pattern, instead]) => rest.replace(pattern, instead), keyless);
}

function masked(key: string): string {
  const id = OWN_KEY.exec(key)?.[1];
  return id === undefined ? `${PREFIX.exec(key)?.[0] ?? ''}***` : `agk_***_${id}_***`;
}
