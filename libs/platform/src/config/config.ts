import { DECISION_PATHS, type DecisionPath, nearestName } from '@agentlens/contracts';
import { DATABASE_ROLES, type ServicePasswords } from '@agentlens/database';
import { InvalidNatsAddress, natsServers } from '@agentlens/messaging';
import { z } from 'zod';
import { ConfigError } from './config-error.ts';
import type { ProcessName } from './process-names.ts';
import { SECRET_VARIABLES, withSecrets } from './secret-files.ts';

const PREFIX = 'AGENTLENS_';

/** Settings of tests and of the local servers, which share a shell with the platform: where downloads are kept. */
const TEST_PREFIX = `${PREFIX}TEST_`;

/** Kubernetes sets such variables for every service named `agentlens-...`. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)$/;

/** Value of a `..._PORT` variable that Kubernetes sets. Only the value distinguishes it from a setting. */
const BARE_LINK = /^(tcp|udp|sctp):\/\//;

/** Rejects unknown AGENTLENS_* names, because a misspelled setting would be ignored silently. */
function refuseUnknownVariables(env: Readonly<Record<string, string | undefined>>, known: readonly string[]): void {
  const unknown = Object.keys(env).filter(
    (name) =>
      name.startsWith(PREFIX) &&
      !name.startsWith(TEST_PREFIX) &&
      !known.includes(name) &&
      !CLIENT_VARIABLES.includes(name),
  );
  const isLink = (name: string) =>
    SERVICE_LINK.test(name) || (name.endsWith('_PORT') && BARE_LINK.test(env[name] ?? ''));
  const mistakes = unknown.filter((name) => !isLink(name));
  if (mistakes.length === 0) return;
  const lines = mistakes.map((name) => `${name} is not known. Did you mean ${meantBy(name, known)}?`);
  throw new ConfigError(`Unknown environment variables:\n  ${lines.join('\n  ')}`);
}

/** Variables of SDKs and the command line, which are often set in the same shell. */
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

/** Finds the nearest known name. Ignores the common prefix. */
function meantBy(name: string, known: readonly string[]): string {
  const names = [...CLIENT_VARIABLES, ...known].filter((one) => one.startsWith(PREFIX));
  const nearest = nearestName(
    name.slice(PREFIX.length),
    names.map((one) => one.slice(PREFIX.length)),
  );
  return `${PREFIX}${nearest ?? ''}`;
}

const MIN_PASSWORD_LENGTH = 16;
/** Printable ASCII without a space, which has the same bytes in a URL, a shell and a secret. */
const PASSWORD = /^[\x21-\x7e]+$/;

/** `service=password` pairs, comma separated. No message repeats the value, because it may contain a password. */
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
const hostAndPort = z.string().regex(/^[\w.-]+(:\d{1,5})?$/, 'must be a host or host:port, such as replica:5432');
/** `<verifier key> <address>`: a key of type 0x04 and the address before `/add-checkpoint`. */
const witness = z.string().transform((text, context) => {
  const [, key = '', url = ''] = /^([^\s+]+\+[0-9a-f]{8}\+B[\w+/]{43}) +(\S+)$/.exec(text) ?? [];
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return { key, url: url.replace(/\/+$/, '') };
  context.issues.push({ code: 'custom', message: 'must be "<key of the witness> <https address>"', input: text });
  return z.NEVER;
});
const toggle = z.enum(['true', 'false']).transform((text) => text === 'true');

/** All variables with their defaults. `.env.example` documents the same list. */
const Environment = z.object({
  AGENTLENS_BUS: z.enum(['memory', 'nats']).optional(),
  NATS_URL: list.optional(),
  AGENTLENS_NATS_REPLICAS: z.coerce.number().int().min(1).max(5).optional(),
  AGENTLENS_STATE: z.enum(['memory', 'redis']).optional(),
  REDIS_URL: z.string().optional(),
  DATABASE_URL: databaseUrl.optional(),
  AGENTLENS_READ_REPLICA: hostAndPort.optional(),
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
  AGENTLENS_LOG_WITNESSES: list.pipe(z.array(witness)).default([]),
  /** One key, or several separated by commas: the first seals, all of them open (rotation). */
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
  AGENTLENS_DECISION_PATH: z.enum(DECISION_PATHS).default('gateway'),
  AGENTLENS_DECISION_BOOK_TTL_SECONDS: z.coerce.number().int().min(1).max(900).default(30),
  AGENTLENS_GATEWAY_DRAIN_SECONDS: z.coerce.number().int().min(0).max(3_600).default(900),
  AGENTLENS_OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be an issuer, such as https://login.example.com/realms/acme' })
    .optional(),
  AGENTLENS_OIDC_CLIENT_ID: z.string().optional(),
  AGENTLENS_OIDC_CLIENT_SECRET: z.string().optional(),
  AGENTLENS_OIDC_GROUPS_CLAIM: z.string().default('groups'),
  AGENTLENS_OIDC_ADMIN_GROUP: z.string().optional(),
  AGENTLENS_MIGRATE: toggle.optional(),
  AGENTLENS_PRINT_FIRST_KEYS: toggle.default(false),
});

/** Names of the platform's variables, for the check of unknown names and for specs of the documentation. */
export const VARIABLES = Object.keys(Environment.shape);

/** The same with passwords and names of secret files. */
const KNOWN = [...VARIABLES, ...SECRET_VARIABLES];

/** Configuration of a process. Parsed once, before anything is opened. */
export interface PlatformConfig {
  readonly service: ProcessName;
  readonly bus:
    | { readonly kind: 'memory' }
    | {
        readonly kind: 'nats';
        readonly servers: readonly string[];
        /** Copies of each stream in a cluster. If undefined, existing streams keep their number. */
        readonly replicas: number | undefined;
      };
  readonly state: { readonly kind: 'memory' } | { readonly kind: 'redis'; readonly url: string };
  readonly database: { readonly kind: 'embedded' } | { readonly kind: 'external'; readonly url: string };
  /** Address of the replica from which backtests read history. Undefined: they read from the database itself. */
  readonly replicaUrl: string | undefined;
  /** Passwords that the migration sets for the database roles of services. */
  readonly databasePasswords: ServicePasswords;
  readonly dataDir: string;
  readonly http: { readonly host: string; readonly port: number; readonly bodyLimitBytes: number };
  /** Public URL of the console. If undefined, outgoing messages contain no links. */
  readonly publicUrl: string | undefined;
  readonly bootstrapKey: string | undefined;
  /** The key that creates tenants. */
  readonly platformKey: string | undefined;
  readonly egressAllow: readonly string[];
  /** Who is asked to cosign the provable logs. */
  readonly logWitnesses: readonly { readonly key: string; readonly url: string }[];
  /** Base64, newest first. If undefined, created in the data folder (standalone only). */
  readonly secretKeys: readonly string[] | undefined;
  readonly logLevel: string;
  /** Retention of events in days; 0 keeps them without limit. */
  readonly retentionDays: number;
  /** Default quota of a key, in events per second. */
  readonly keyEventsPerSecond: number;
  /** Compare accepted events with stored and evaluated events continuously. */
  readonly auditEnabled: boolean;
  readonly otlp: OtlpConfig;
  readonly decisions: {
    /** Where calls are decided: always at the evaluator, or at the gateway if it knows the evaluator's answer. */
    readonly path: DecisionPath;
    /** How long a gateway decides by rules that no evaluator has confirmed. */
    readonly bookTtlSeconds: number;
  };
  /** How long open answers of a stopping process may take, in seconds. 0: as long as other requests. */
  readonly drainSeconds: number;
  /** Provider with which people of the tenant `default` sign in. */
  readonly oidc: EnvironmentProvider | undefined;
  /** Migrate the schema and the streams at startup. */
  readonly migrate: boolean;
  /** Whether the migration job creates first keys that are not given, and prints them. */
  readonly printFirstKeys: boolean;
}

function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol);
}

/** Configuration of OpenTelemetry ingestion. */
interface OtlpConfig {
  /** Maximum size of a request, after decompression. */
  readonly bodyLimitBytes: number;
  /** How much of each conversation to keep. */
  readonly content: 'last' | 'all' | 'none';
  /** Store framework steps as events. */
  readonly keepSteps: boolean;
  /** The end of an agent ends its run after this long without another event. */
  readonly quietSeconds: number;
  /** Origins from which browsers may send. */
  readonly corsOrigins: readonly string[];
}

type Environment = z.infer<typeof Environment>;

/** @throws ConfigError with the variable, the problem, and the nearest known name if the name is misspelled */
export function loadConfig(
  service: ProcessName,
  env: Readonly<Record<string, string | undefined>> = process.env,
): PlatformConfig {
  refuseUnknownVariables(env, KNOWN);
  const values = withSecrets(env);
  const present = Object.fromEntries(VARIABLES.map((name) => [name, values[name] === '' ? undefined : values[name]]));
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
    replicaUrl: replicaUrlOf(env),
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
    logWitnesses: env.AGENTLENS_LOG_WITNESSES,
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
    decisions: { path: env.AGENTLENS_DECISION_PATH, bookTtlSeconds: env.AGENTLENS_DECISION_BOOK_TTL_SECONDS },
    drainSeconds: service === 'model-gateway' ? env.AGENTLENS_GATEWAY_DRAIN_SECONDS : 0,
    oidc: readProvider(env),
    printFirstKeys: env.AGENTLENS_PRINT_FIRST_KEYS,
    migrate: env.AGENTLENS_MIGRATE ?? (standalone || service === 'setup'),
  };
}

/** An OpenID Connect provider that the operator sets, read-only for the tenant. */
export interface EnvironmentProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly groupsClaim: string;
  readonly adminGroup: string;
}

function readProvider(env: Environment): EnvironmentProvider | undefined {
  const {
    AGENTLENS_OIDC_ISSUER: issuer,
    AGENTLENS_OIDC_CLIENT_ID: clientId,
    AGENTLENS_OIDC_ADMIN_GROUP: adminGroup,
  } = env;
  if (issuer === undefined) return undefined;
  if (clientId === undefined || adminGroup === undefined) {
    throw new ConfigError(
      'AGENTLENS_OIDC_ISSUER needs AGENTLENS_OIDC_CLIENT_ID, and AGENTLENS_OIDC_ADMIN_GROUP: the group whose members become administrators. Set all three',
    );
  }
  return {
    ...{ issuer, clientId, adminGroup },
    clientSecret: env.AGENTLENS_OIDC_CLIENT_SECRET,
    groupsClaim: env.AGENTLENS_OIDC_GROUPS_CLAIM,
  };
}

/** The default public URL is the local address if the platform serves only its own machine. */
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
  return { kind, servers, replicas: env.AGENTLENS_NATS_REPLICAS };
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

/** The replica has the user, the password and the database of `DATABASE_URL`. */
function replicaUrlOf({ AGENTLENS_READ_REPLICA: host, DATABASE_URL: database }: Environment): string | undefined {
  if (host === undefined) return undefined;
  if (database === undefined) {
    throw new ConfigError('AGENTLENS_READ_REPLICA needs DATABASE_URL, which names user and database. Set both');
  }
  const url = new URL(database);
  url.host = host;
  // Otherwise the port of the primary would stay.
  url.port = host.split(':')[1] ?? '';
  return url.href;
}

function secretKeysOf(service: ProcessName, env: Environment): readonly string[] | undefined {
  if (service === 'standalone') return env.AGENTLENS_SECRET_KEY;
  return required(service, 'AGENTLENS_SECRET_KEY', env.AGENTLENS_SECRET_KEY, 'the output of: openssl rand -base64 32');
}

function refuseMemory(service: ProcessName, variable: string, instead: string): void {
  if (service === 'standalone') return;
  throw new ConfigError(
    `${variable}=memory works only if all services share one process (standalone), not for "${service}": ` +
      `other processes would not see its data. Use ${variable}=${instead}.`,
  );
}

function required<T>(service: ProcessName, variable: string, value: T | undefined, example: string): T {
  if (value !== undefined) return value;
  throw new ConfigError(`"${service}" needs ${variable}. Set it to ${example}`);
}
