import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig, VARIABLES } from './config.ts';
import { ConfigError } from './config-error.ts';
import { SECRET_VARIABLES } from './secret-files.ts';

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
const SERVERS = {
  NATS_URL: 'nats://a:4222, nats://b:4222',
  REDIS_URL: 'redis://r:6379',
  DATABASE_URL: 'postgres://p/agentlens',
  AGENTLENS_SECRET_KEY: SECRET_KEY,
};

describe('configuration', () => {
  it('of standalone has no required variables', () => {
    expect(loadConfig('standalone', {})).toMatchObject({
      bus: { kind: 'memory' },
      state: { kind: 'memory' },
      database: { kind: 'embedded' },
      dataDir: '.agentlens',
      http: { host: '127.0.0.1', port: 3400, bodyLimitBytes: 10_485_760 },
      secretKeys: undefined,
      migrate: true,
    });
  });

  it('of a service requires its servers', () => {
    expect(loadConfig('ingest', SERVERS)).toMatchObject({
      bus: { kind: 'nats', servers: ['nats://a:4222', 'nats://b:4222'] },
      state: { kind: 'redis', url: 'redis://r:6379' },
      database: { kind: 'external', url: 'postgres://p/agentlens' },
      http: { host: '0.0.0.0' },
      secretKeys: [SECRET_KEY],
      migrate: false,
    });
  });

  it('of a service rejects an invalid address without quoting its password', () => {
    const loading = () => loadConfig('ingest', { ...SERVERS, NATS_URL: 'nats://platform:sec/ret@nats:4222' });
    expect(loading).toThrow(ConfigError);
    expect(loading).toThrow(/^NATS_URL: address 1 of 1 /);
    expect(loading).not.toThrow(/sec|ret@/);
  });

  it.each(Object.keys(SERVERS))('of a service without %s explains what to set', (name) => {
    expect(() => loadConfig('query', { ...SERVERS, [name]: undefined })).toThrow(`"query" needs ${name}`);
  });

  it.each(['AGENTLENS_BUS', 'AGENTLENS_STATE'])('rejects %s=memory outside standalone', (name) => {
    expect(() => loadConfig('ingest', { ...SERVERS, [name]: 'memory' })).toThrow(`${name}=memory works only`);
    expect(() => loadConfig('standalone', { [name]: 'memory' })).not.toThrow();
  });

  it('lets standalone use real servers', () => {
    expect(loadConfig('standalone', SERVERS)).toMatchObject({ bus: { kind: 'nats' }, state: { kind: 'redis' } });
  });

  it('defaults the public URL to the local address only if one process serves that alone', () => {
    const AGENTLENS_PUBLIC_URL = 'https://lens.example.com';
    expect(loadConfig('standalone', { AGENTLENS_HTTP_PORT: '3410' }).publicUrl).toBe('http://localhost:3410');
    expect(loadConfig('standalone', { AGENTLENS_HTTP_HOST: '0.0.0.0' }).publicUrl).toBeUndefined();
    expect(loadConfig('query', SERVERS).publicUrl).toBeUndefined();
    expect(loadConfig('query', { ...SERVERS, AGENTLENS_PUBLIC_URL }).publicUrl).toBe(AGENTLENS_PUBLIC_URL);
    expect(() => loadConfig('standalone', { AGENTLENS_PUBLIC_URL: 'lens.example.com' })).toThrow(
      'AGENTLENS_PUBLIC_URL',
    );
  });

  it.each([
    ['AGENTLENS_HTTP_PROT', 'AGENTLENS_HTTP_PORT'],
    ['AGENTLENS_PORT', 'AGENTLENS_HTTP_PORT'],
    ['AGENTLENS_HTP_PORT', 'AGENTLENS_HTTP_PORT'],
    ['AGENTLENS_KEY', 'AGENTLENS_API_KEY'],
    ['AGENTLENS_RETENTION', 'AGENTLENS_RETENTION_DAYS'],
  ])('suggests the nearest known variable for %s', (name, meant) => {
    expect(() => loadConfig('standalone', { [name]: '1' })).toThrow(`${name} is not known. Did you mean ${meant}?`);
  });

  it('ignores variables of Kubernetes, of clients and of tests', () => {
    const env = {
      AGENTLENS_TEST_CACHE: '/tmp/downloads',
      AGENTLENS_PORT: 'tcp://10.0.0.1:3400',
      AGENTLENS_INGEST_PORT: 'tcp://10.0.0.1:3400',
      AGENTLENS_INGEST_SERVICE_HOST: 'x',
      AGENTLENS_INGEST_PORT_3400_TCP_ADDR: 'y',
      AGENTLENS_API_KEY: 'z',
      AGENTLENS_SERVER_URL: 'z',
      AGENTLENS_AGENT_ID: 'z',
      AGENTLENS_ENFORCE: 'z',
      AGENTLENS_FAIL_MODE: 'z',
      AGENTLENS_PROFILE: 'z',
      AGENTLENS_DEADLINE_MS: 'z',
    };
    expect(() => loadConfig('standalone', env)).not.toThrow();
  });

  it.each([
    ['AGENTLENS_HTTP_PORT', '70000'],
    ['AGENTLENS_HTTP_PORT', 'http'],
    ['AGENTLENS_BUS', 'kafka'],
    ['AGENTLENS_EGRESS_ALLOW', '127.0.0.1'],
    ['AGENTLENS_LOG_WITNESSES', 'https://witness.example.com'],
    ['AGENTLENS_LOG_WITNESSES', 'w+00000000+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2 witness.example.com'],
    ['AGENTLENS_SECRET_KEY', 'too-short'],
    ['AGENTLENS_RETENTION_DAYS', '-1'],
    ['AGENTLENS_LOG_LEVEL', 'loud'],
    ['AGENTLENS_MIGRATE', 'yes'],
  ])('rejects %s=%s and names it', (name, value) => {
    expect(() => loadConfig('standalone', { [name]: value })).toThrow(name);
  });

  it.each(['abc', '-1', '1.5', '70000', '1e3'])('explains a port number for %s', (value) => {
    const load = () => loadConfig('standalone', { AGENTLENS_HTTP_PORT: value });
    expect(load).toThrow('AGENTLENS_HTTP_PORT: must be a port number from 0 to 65535');
  });

  it.each(['localhost:5432', 'mysql://u:hidden@h/d', 'postgres//x'])('explains a database address for %s', (value) => {
    const load = () => loadConfig('standalone', { DATABASE_URL: value });
    expect(load).toThrow('DATABASE_URL: must be an address such as postgres://');
    expect(load).not.toThrow('hidden');
  });

  it('accepts witnesses with their keys', () => {
    const key = 'remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2';
    const text = `${key} https://witness.example.com/w1/, ${key} http://10.0.0.1:3490`;
    expect(loadConfig('standalone', { AGENTLENS_LOG_WITNESSES: text }).logWitnesses).toEqual([
      { key, url: 'https://witness.example.com/w1' },
      { key, url: 'http://10.0.0.1:3490' },
    ]);
    expect(loadConfig('standalone', {}).logWitnesses).toEqual([]);
  });

  it('accepts a database password for each service', () => {
    const text = 'ingest=0123456789abcdef, run-tracking=a=b=0123456789abcdef';
    expect(loadConfig('setup', { ...SERVERS, AGENTLENS_DATABASE_PASSWORDS: text }).databasePasswords).toEqual({
      ingest: '0123456789abcdef',
      'run-tracking': 'a=b=0123456789abcdef',
    });
    expect(loadConfig('setup', SERVERS).databasePasswords).toEqual({});
  });

  it.each([
    ['an unknown service', 'ingestion=0123456789abcdef', 'pair 1 must be service=password'],
    ['no service', '0123456789abcdef', 'pair 1 must be service=password'],
    ['a short password', 'query=0123456789abcde', 'the password of query must be 16 or more'],
    ['a password with other characters', 'query=0123456789abcdéf', 'the password of query must be'],
    ['one password for two services', 'query=0123456789abcdef,ingest=0123456789abcdef', 'a password of its own'],
  ])('rejects %s among the database passwords without repeating any of them', (_, text, message) => {
    const loading = () => loadConfig('setup', { ...SERVERS, AGENTLENS_DATABASE_PASSWORDS: text });
    expect(loading).toThrow(message);
    expect(loading).not.toThrow(/0123456789/);
  });

  it('treats an empty variable as unset', () => {
    expect(loadConfig('standalone', { AGENTLENS_HTTP_PORT: '', DATABASE_URL: '' }).http.port).toBe(3400);
  });

  it('is documented completely in .env.example', () => {
    const documented = readFileSync(new URL('../../../../.env.example', import.meta.url), 'utf8');
    const names = [...VARIABLES, ...SECRET_VARIABLES];
    const missing = names.filter((name) => !new RegExp(`^#? ?${name}=`, 'm').test(documented));
    expect(missing).toEqual([]);
  });
});

describe('secrets of the configuration', () => {
  let folder: string;
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'agentlens-secrets-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('are read from files, without the line break at their end', () => {
    const env = { ...SERVERS, AGENTLENS_SECRET_KEY: '', AGENTLENS_SECRET_KEY_FILE: file('key', `${SECRET_KEY}\n`) };
    expect(loadConfig('query', env).secretKeys).toEqual([SECRET_KEY]);
  });

  it('complete the addresses of the servers', () => {
    const config = loadConfig('query', {
      ...SERVERS,
      NATS_URL: 'nats://query@a:4222, nats://query@b:4222',
      NATS_PASSWORD_FILE: file('nats', 'p/q'),
      REDIS_URL: 'redis://r:6379',
      REDIS_PASSWORD: 'r@s',
      DATABASE_URL: 'postgres://agentlens_query@p/agentlens',
      DATABASE_PASSWORD_FILE: file('database', 'a%b'),
    });
    expect(config).toMatchObject({
      bus: { servers: ['nats://query:p%2Fq@a:4222', 'nats://query:p%2Fq@b:4222'] },
      state: { url: 'redis://:r%40s@r:6379' },
      database: { url: 'postgres://agentlens_query:a%25b@p/agentlens' },
    });
  });

  it('reads history from a replica with the login of the database', () => {
    const of = (replica: string) =>
      loadConfig('backtester', {
        ...SERVERS,
        DATABASE_URL: 'postgres://agentlens_backtester@primary:6432/agentlens?sslmode=require',
        DATABASE_PASSWORD: 'p/q',
        AGENTLENS_READ_REPLICA: replica,
      }).replicaUrl;
    expect(of('replica:5433')).toBe('postgres://agentlens_backtester:p%2Fq@replica:5433/agentlens?sslmode=require');
    expect(of('10.0.0.7')).toBe('postgres://agentlens_backtester:p%2Fq@10.0.0.7/agentlens?sslmode=require');
    expect(() => of('postgres://replica')).toThrow('AGENTLENS_READ_REPLICA: must be a host or host:port');
    expect(() => loadConfig('standalone', { AGENTLENS_READ_REPLICA: 'replica' })).toThrow('needs DATABASE_URL');
    expect(loadConfig('backtester', SERVERS).replicaUrl).toBeUndefined();
  });

  it.each([
    ['a file that does not exist', () => ({ REDIS_URL_FILE: join(folder, 'absent') }), /^REDIS_URL_FILE: cannot read/],
    ['an empty file', () => ({ DATABASE_PASSWORD_FILE: file('empty', '\n') }), /^DATABASE_PASSWORD_FILE: .* is empty/],
    ['a value and a file', () => ({ ...SERVERS, NATS_URL_FILE: file('url', 'x') }), /NATS_URL_FILE are both set/],
    [
      'two passwords',
      () => ({ ...SERVERS, DATABASE_URL: 'postgres://u:hidden@p/a', DATABASE_PASSWORD: 'hidden' }),
      /^DATABASE_URL contains a password/,
    ],
    ['a password without a user', () => ({ ...SERVERS, NATS_PASSWORD: 'hidden' }), /^NATS_URL needs a user/],
    ['a misspelled name', () => ({ AGENTLENS_SECRT_KEY_FILE: 'x' }), /Did you mean AGENTLENS_SECRET_KEY_FILE/],
    [
      'a file for a setting that is no secret',
      () => ({ AGENTLENS_LOG_LEVEL_FILE: 'x' }),
      /AGENTLENS_LOG_LEVEL_FILE is/,
    ],
  ])('are refused with %s', (_, env, message) => {
    const loading = () => loadConfig('standalone', env());
    expect(loading).toThrow(message);
    expect(loading).not.toThrow(/hidden/);
  });

  it('say how many copies of a stream the migration makes', () => {
    const env = { ...SERVERS, AGENTLENS_NATS_REPLICAS: '3' };
    expect(loadConfig('setup', env).bus).toMatchObject({ replicas: 3 });
    expect(loadConfig('setup', SERVERS).bus).toMatchObject({ replicas: undefined });
    expect(() => loadConfig('setup', { ...SERVERS, AGENTLENS_NATS_REPLICAS: '7' })).toThrow('AGENTLENS_NATS_REPLICAS');
  });
});
