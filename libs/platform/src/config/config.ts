import { nearestName } from '@agentlens/contracts';
import { DATABASE_ROLES, type ServicePasswords } from '@agentlens/database';
import { InvalidNatsAddress, natsServers } from '@agentlens/messaging';
import { z } from 'zod';
import { ConfigError } from './config-error.ts';
import type { ProcessName } from './process-names.ts';

const PREFIX = 'AGENTLENS_';

/** Kubernetes sets such variables for every service named `agentlens-...`. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)$/;

/** And `..._PORT`, which differs from a setting by its value only. */
const BARE_LINK = /^(tcp|udp|sctp):\/\//;

/** A misspelt setting would be ignored in silence, so every AGENTLENS_* name must be known. */
function refuseUnknownVariables(env: Readonly<Record<string, string | undefined>>, known: readonly string[]): void {
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith(PREFIX) && !known.includes(name) && !CLIENT_VARIABLES.includes(name),
  );
  const isLink = (name: string) =>
    SERVICE_LINK.test(name) || (name.endsWith('_PORT') && BARE_LINK.test(env[name] ?? ''));
  const mistakes = unknown.filter((name) => !isLink(name));
  if (mistakes.length === 0) return;
  const lines = mistakes.map((name) => `${name} is not known. Did you mean ${meantBy(name, known)}?`);
  throw new ConfigError(`Unknown environment variables:\n  ${lines.join('\n  ')}`);
}

/** Read by SDKs and the command line, and often set in the same shell. */
const CLIENT_VARIABLES: readonly string[] = [
  'AGENTLENS_AGENT_ID',
  'AGENTLENS_API_KEY',
  'AGENTLENS_API_URL',
  'AGENTLENS_DEADLINE_MS',
  'AGENTLENS_ENFORCE',
  'AGENTLENS_FAIL_MODE',
  'AGENTLENS_PROFILE',
  'AGENTLENS_SERVER_URL',
  'AGENTLENS_URL',
];

/** What all names begin with says nothing of which one was meant. */
function meantBy(name: string, known: readonly string[]): string {
  const names = [...CLIENT_VARIABLES, ...known].filter((one) => one.startsWith(PREFIX));
  const nearest = nearestName(
    name.slice(PREFIX.length),
    names.map((one) => one.slice(PREFIX.length)),
  );
  return `${PREFIX}${nearest ?? ''}`;
}

const MIN_PASSWORD_LENGTH = 16;
/** Printable ASCII without a space: the same bytes in an address, a shell and a secret. */
const PASSWORD = /^[\x21-\x7e]+$/;

/** `service=password` pairs, comma separated. No message repeats what was given: it may be a password. */
const servicePasswords = z.string().transform((text, context): ServicePasswords => {
  const passwords: Partial<Record<string, string>> = {};
  const refuse = (message: string) => context.issues.push({ code: 'custom', message, input: undefined });
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  for (const [index, pair] of pairs.entries()) {
    const [, service = '', password = ''] = /^([^=]*)=(.*)$/s.exec(pair.trim()) ?? [];
    if (!DATABASE_ROLES.some((role) => role === service)) {
      refuse(`pair ${index + 1} must be service=password, with one of ${DATABASE_ROLES.join(', ')}`);
    } else if (password.length < MIN_PASSWORD_LENGTH || !PASSWORD.test(password)) {
      refuse(
        `the password of ${service} must be ${MIN_PASSWORD_LENGTH} or more printable ASCII characters, without comma or space`,
      );
    } else {
      passwords[service] = password;
    }
  }
  if (new Set(Object.values(passwords)).size < Object.keys(passwords).length) {
    refuse('every service needs a password of its own');
  }
  return passwords;
});

const NO_PORT = 'must be a port number from 0 to 65535';
const port = z
  .string()
  .regex(/^\d{1,5}$/, NO_PORT)
  .transform(Number)
  .pipe(z.int().max(65_535, NO_PORT));
const databaseUrl = z
  .string()
  .refine(isPostgresUrl, 'must be an address such as postgres://user:password@127.0.0.1:5432/agentlens');
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);
const aesKey = z.string().refine((text) => Buffer.from(text, 'base64').length === 32, {
  message: 'must be 32 bytes in base64 (make one with: openssl rand -base64 32)',
});
const cidr = z.union([z.cidrv4(), z.cidrv6()], 'must be networks in CIDR form, such as 127.0.0.1/32');
const toggle = z.enum(['true', 'false']).transform((text) => text === 'true');

/** Every variable with its default; `.env.example` documents the same list. */
const Environment = z.object({
  AGENTLENS_BUS: z.enum(['memory', 'nats']).optional(),
  NATS_URL: list.optional(),
  AGENTLENS_STATE: z.enum(['memory', 'redis']).optional(),
  REDIS_URL: z.string().optional(),
  DATABASE_URL: databaseUrl.optional(),
  AGENTLENS_DATABASE_PASSWORDS: servicePasswords.default({}),
  AGENTLENS_DATA_DIR: z.string().default('.agentlens'),
  AGENTLENS_HTTP_PORT: port.default(3400),
  AGENTLENS_HTTP_HOST: z.string().optional(),
  AGENTLENS_HTTP_BODY_LIMIT_BYTES: z.coerce
    .number()
    .int()
    .min(1024)
    .default(10 * 1024 * 1024),
  AGENTLENS_PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https address, such as https://agentlens.example.com' })
    .optional(),
  AGENTLENS_BOOTSTRAP_KEY: z.string().optional(),
  AGENTLENS_PLATFORM_KEY: z.string().optional(),
  AGENTLENS_EGRESS_ALLOW: list.pipe(z.array(cidr)).default([]),
  /** One key, or several separated by commas: the first seals, all open (rotation). */
  AGENTLENS_SECRET_KEY: list.pipe(z.array(aesKey).min(1)).optional(),
  AGENTLENS_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).optional(),
  AGENTLENS_RETENTION_DAYS: z.coerce.number().int().min(0).default(90),
  AGENTLENS_KEY_EVENTS_PER_SECOND: z.coerce.number().int().min(1).default(50_000),
  AGENTLENS_AUDIT_ENABLED: toggle.optional(),
  AGENTLENS_OTLP_BODY_LIMIT_BYTES: z.coerce
    .number()
    .int()
    .min(1024)
    .default(64 * 1024 * 1024),
  AGENTLENS_OTLP_CONTENT: z.enum(['last', 'all', 'none']).default('last'),
  AGENTLENS_OTLP_STEPS: z.enum(['drop', 'keep']).default('drop'),
  AGENTLENS_OTLP_QUIET_SECONDS: z.coerce.number().int().min(1).default(120),
  AGENTLENS_OTLP_CORS_ORIGINS: list.default([]),
  AGENTLENS_MIGRATE: toggle.optional(),
});

/** Names of the platform's own variables, for the check of unknown ones and the specs of the documentation. */
export const VARIABLES = Object.keys(Environment.shape);

/** What one process runs on; parsed once, before anything is opened. */
export interface PlatformConfig {
  readonly service: ProcessName;
  readonly bus: { readonly kind: 'memory' } | { readonly kind: 'nats'; readonly servers: readonly string[] };
  readonly state: { readonly kind: 'memory' } | { readonly kind: 'redis'; readonly url: string };
  readonly database: { readonly kind: 'embedded' } | { readonly kind: 'external'; readonly url: string };
  /** With which the migration lets services connect as their own roles. */
  readonly databasePasswords: ServicePasswords;
  readonly dataDir: string;
  readonly http: { readonly host: string; readonly port: number; readonly bodyLimitBytes: number };
  /** Where people reach the console; undefined: nothing that is sent elsewhere links to it. */
  readonly publicUrl: string | undefined;
  readonly bootstrapKey: string | undefined;
  /** The key that makes tenants. */
  readonly platformKey: string | undefined;
  readonly egressAllow: readonly string[];
  /** Base64; newest first. Undefined: made with the data (standalone only). */
  readonly secretKeys: readonly string[] | undefined;
  readonly logLevel: string;
  /** How long events are kept; 0 keeps them for ever. */
  readonly retentionDays: number;
  /** Quota of a key that has none of its own, events per second. */
  readonly keyEventsPerSecond: number;
  /** Compare all the while what was accepted with what is stored and evaluated. */
  readonly auditEnabled: boolean;
  readonly otlp: OtlpConfig;
  /** Bring the schema and the streams up to date when opening. */
  readonly migrate: boolean;
}

function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol);
}

/** How OpenTelemetry is taken in. */
interface OtlpConfig {
  /** Of one request, inflated. */
  readonly bodyLimitBytes: number;
  /** How much of each conversation is kept. */
  readonly content: 'last' | 'all' | 'none';
  /** Keep the steps of frameworks as events. */
  readonly keepSteps: boolean;
  /** An agent's own end counts as the run's after this long without an event of it. */
  readonly quietSeconds: number;
  /** Browsers on these origins may send. */
  readonly corsOrigins: readonly string[];
}

type Environment = z.infer<typeof Environment>;

/** @throws ConfigError naming the variable, what is wrong with it, and the nearest known name where one is misspelt. */
export function loadConfig(
  service: ProcessName,
  env: Readonly<Record<string, string | undefined>> = process.env,
): PlatformConfig {
  refuseUnknownVariables(env, VARIABLES);
  const present = Object.fromEntries(VARIABLES.map((name) => [name, env[name] === '' ? undefined : env[name]]));
  const parsed = Environment.safeParse(present);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`);
    throw new ConfigError(`The environment of "${service}" cannot be used:\n  ${problems.join('\n  ')}`);
  }
  return configOf(service, parsed.data);
}

function configOf(service: ProcessName, env: Environment): PlatformConfig {
  const standalone = service === 'standalone';
  return {
    service,
    bus: busOf(service, env),
    state: stateOf(service, env),
    database: databaseOf(service, env),
    databasePasswords: env.AGENTLENS_DATABASE_PASSWORDS,
    dataDir: env.AGENTLENS_DATA_DIR,
    http: {
      host: env.AGENTLENS_HTTP_HOST ?? (standalone ? '127.0.0.1' : '0.0.0.0'),
      port: env.AGENTLENS_HTTP_PORT,
      bodyLimitBytes: env.AGENTLENS_HTTP_BODY_LIMIT_BYTES,
    },
    publicUrl: publicUrlOf(service, env),
    bootstrapKey: env.AGENTLENS_BOOTSTRAP_KEY,
    platformKey: env.AGENTLENS_PLATFORM_KEY,
    egressAllow: env.AGENTLENS_EGRESS_ALLOW,
    secretKeys: secretKeysOf(service, env),
    logLevel: env.AGENTLENS_LOG_LEVEL ?? (standalone ? 'warn' : 'info'),
    retentionDays: env.AGENTLENS_RETENTION_DAYS,
    keyEventsPerSecond: env.AGENTLENS_KEY_EVENTS_PER_SECOND,
    auditEnabled: env.AGENTLENS_AUDIT_ENABLED ?? !standalone,
    otlp: {
      bodyLimitBytes: env.AGENTLENS_OTLP_BODY_LIMIT_BYTES,
      content: env.AGENTLENS_OTLP_CONTENT,
      keepSteps: env.AGENTLENS_OTLP_STEPS === 'keep',
      quietSeconds: env.AGENTLENS_OTLP_QUIET_SECONDS,
      corsOrigins: env.AGENTLENS_OTLP_CORS_ORIGINS,
    },
    migrate: env.AGENTLENS_MIGRATE ?? (standalone || service === 'setup'),
  };
}

/** Started on one machine for its own user, the platform is reached on that machine. */
function publicUrlOf(service: ProcessName, env: Environment): string | undefined {
  if (env.AGENTLENS_PUBLIC_URL !== undefined) return env.AGENTLENS_PUBLIC_URL;
  const local = service === 'standalone' && env.AGENTLENS_HTTP_HOST === undefined && env.AGENTLENS_HTTP_PORT !== 0;
  return local ? `http://localhost:${env.AGENTLENS_HTTP_PORT}` : undefined;
}

function busOf(service: ProcessName, env: Environment): PlatformConfig['bus'] {
  const kind = env.AGENTLENS_BUS ?? (service === 'standalone' && env.NATS_URL === undefined ? 'memory' : 'nats');
  if (kind === 'memory') {
    refuseMemory(service, 'AGENTLENS_BUS', 'nats');
    return { kind };
  }
  const servers = required(service, 'NATS_URL', env.NATS_URL, 'nats://127.0.0.1:4222');
  try {
    natsServers(servers);
  } catch (error) {
    throw error instanceof InvalidNatsAddress ? new ConfigError(error.message) : error;
  }
  return { kind, servers };
}

function stateOf(service: ProcessName, env: Environment): PlatformConfig['state'] {
  const kind = env.AGENTLENS_STATE ?? (service === 'standalone' && env.REDIS_URL === undefined ? 'memory' : 'redis');
  if (kind === 'memory') {
    refuseMemory(service, 'AGENTLENS_STATE', 'redis');
    return { kind };
  }
  return { kind, url: required(service, 'REDIS_URL', env.REDIS_URL, 'redis://127.0.0.1:6379') };
}

function databaseOf(service: ProcessName, env: Environment): PlatformConfig['database'] {
  if (env.DATABASE_URL === undefined && service === 'standalone') return { kind: 'embedded' };
  const url = required(service, 'DATABASE_URL', env.DATABASE_URL, 'postgres://user:password@127.0.0.1:5432/agentlens');
  return { kind: 'external', url };
}

function secretKeysOf(service: ProcessName, env: Environment): readonly string[] | undefined {
  if (service === 'standalone') return env.AGENTLENS_SECRET_KEY;
  return required(service, 'AGENTLENS_SECRET_KEY', env.AGENTLENS_SECRET_KEY, 'the output of: openssl rand -base64 32');
}

function refuseMemory(service: ProcessName, variable: string, instead: string): void {
  if (service === 'standalone') return;
  throw new ConfigError(
    `${variable}=memory works only where all services share one process (standalone), not for "${service}": ` +
      `other processes would see nothing of it. Use ${variable}=${instead}.`,
  );
}

function required<T>(service: ProcessName, variable: string, value: T | undefined, example: string): T {
  if (value !== undefined) return value;
  throw new ConfigError(`"${service}" needs ${variable}. Set it to ${example}`);
}
