import { readFileSync } from 'node:fs';
import { ConfigError } from './config-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Addresses that can have their password in a variable of its own. */
const PASSWORD_OF = {
  NATS_URL: 'NATS_PASSWORD',
  REDIS_URL: 'REDIS_PASSWORD',
  DATABASE_URL: 'DATABASE_PASSWORD',
} as const;

/** Variables that can contain a secret. `NAME_FILE` names a file with the value, such as a mounted secret. */
const SECRETS = [
  ...Object.keys(PASSWORD_OF),
  ...Object.values(PASSWORD_OF),
  'AGENTLENS_DATABASE_PASSWORDS',
  'AGENTLENS_BOOTSTRAP_KEY',
  'AGENTLENS_PLATFORM_KEY',
  'AGENTLENS_SECRET_KEY',
  'AGENTLENS_OIDC_CLIENT_SECRET',
];

/** Names that this module reads in addition to the settings. */
export const SECRET_VARIABLES: readonly string[] = [
  ...Object.values(PASSWORD_OF),
  ...SECRETS.map((name) => `${name}_FILE`),
];

/**
 * Returns the environment with the contents of secret files, and with passwords in their addresses. No error quotes a
 * value.
 *
 * @throws ConfigError if a file cannot be read or is empty, or if a value is set twice
 */
export function withSecrets(env: Environment): Environment {
  const read = { ...env };
  for (const name of SECRETS) {
    const file = env[`${name}_FILE`];
    if (file === undefined || file === '') continue;
    if (env[name] !== undefined && env[name] !== '') {
      throw new ConfigError(`${name} and ${name}_FILE are both set. Remove one of them`);
    }
    read[name] = contentOf(file, `${name}_FILE`);
  }
  for (const [address, variable] of Object.entries(PASSWORD_OF)) {
    const [addresses, password] = [read[address], read[variable]];
    if (addresses === undefined || addresses === '' || password === undefined || password === '') continue;
    const complete = (one: string) => withPassword(one.trim(), { address, variable, password });
    read[address] = address === 'NATS_URL' ? addresses.split(',').map(complete).join(',') : complete(addresses);
  }
  return read;
}

function contentOf(file: string, variable: string): string {
  let content: string;
  try {
    // Editors and shells end a file with a line break that is not part of the secret.
    content = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${variable}: cannot read ${file} (${code}). The user of this process needs read permission`);
  }
  if (content === '') throw new ConfigError(`${variable}: ${file} is empty`);
  return content;
}

interface Password {
  readonly address: string;
  readonly variable: string;
  readonly password: string;
}

function withPassword(text: string, { address, variable, password }: Password): string {
  // An address that cannot be parsed is reported by the check of the address itself.
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.password !== '') {
    throw new ConfigError(`${address} contains a password, and ${variable} is set. Remove one of them`);
  }
  // Redis has a default user.
  if (url.username === '' && address !== 'REDIS_URL') {
    throw new ConfigError(`${address} needs a user for ${variable}, such as ${url.protocol}//user@host`);
  }
  url.password = encodeURIComponent(password);
  return url.href;
}
