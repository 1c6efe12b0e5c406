import { describe, expect, it } from '@jest/globals';
import { type ConnectionSources, findConnection, natsAddress, needKey } from './connection.ts';

const NOTHING: ConnectionSources = {
  flags: {},
  env: {},
  projectProfile: undefined,
  profiles: { profiles: {} },
  localKeys: () => [],
};
const STAGING = { url: 'https://staging.example', key: 'agk_live_staging' };
const PROD = { url: 'https://prod.example', key: 'agk_live_prod' };
const PROFILES = { current: 'staging', profiles: { staging: STAGING, prod: PROD } };

const found = (sources: Partial<ConnectionSources>) => {
  const { url, keys } = findConnection({ ...NOTHING, ...sources });
  return { url, key: keys[0]?.key };
};

describe('findConnection', () => {
  it('defaults to the usual port of this machine', () => {
    expect(found({})).toEqual({ url: 'http://127.0.0.1:3400', key: undefined });
    expect(found({ env: { AGENTLENS_HTTP_PORT: '3500' } }).url).toBe('http://127.0.0.1:3500');
  });

  it('uses the key of a platform started here, for addresses of this machine only', () => {
    const localKeys = () => [{ file: '.agentlens/api-key', key: 'agk_live_local' }];
    expect(found({ localKeys }).key).toBe('agk_live_local');
    expect(found({ localKeys, flags: { url: 'http://localhost:3500' } }).key).toBe('agk_live_local');
    expect(found({ localKeys, flags: { url: 'https://elsewhere.example' } }).key).toBeUndefined();
  });

  it('prefers the current profile to this machine, and the environment to the profile', () => {
    expect(found({ profiles: PROFILES })).toEqual(STAGING);
    const env = { AGENTLENS_URL: 'https://env.example', AGENTLENS_API_KEY: 'agk_live_env' };
    expect(found({ profiles: PROFILES, env })).toEqual({ url: 'https://env.example', key: 'agk_live_env' });
  });

  it("prefers the project's profile to the current one, and the environment's to both", () => {
    expect(found({ profiles: PROFILES, projectProfile: 'prod' })).toEqual(PROD);
    expect(found({ profiles: PROFILES, projectProfile: 'prod', env: { AGENTLENS_PROFILE: 'staging' } })).toEqual(
      STAGING,
    );
  });

  it('prefers a profile named on the command line to the environment', () => {
    const env = { AGENTLENS_URL: 'https://env.example', AGENTLENS_API_KEY: 'agk_live_env' };
    expect(found({ profiles: PROFILES, env, flags: { profile: 'prod' } })).toEqual(PROD);
  });

  it('sends a stored key only to the address it was stored with', () => {
    expect(found({ profiles: PROFILES, flags: { url: 'https://evil.example' } }).key).toBeUndefined();
    expect(found({ profiles: PROFILES, env: { AGENTLENS_URL: 'https://evil.example' } }).key).toBeUndefined();
    expect(found({ profiles: PROFILES, flags: { url: 'https://staging.example/' } }).key).toBe(STAGING.key);
  });

  it('rejects an unknown profile and lists the known ones', () => {
    expect(() => found({ profiles: PROFILES, flags: { profile: 'porduction' } })).toThrow(
      'Unknown profile "porduction"',
    );
  });

  it.each([
    ['localhost:3400', 'is not an address'],
    ['ftp://files.example', 'is not an address'],
    ['https://me:secret@example.com', 'must not carry a password'],
  ])('rejects the address %s', (url, why) => {
    expect(() => found({ flags: { url } })).toThrow(why);
  });

  it('explains how to sign in if there is no key', () => {
    expect(() => needKey(findConnection(NOTHING))).toThrow('No API key for http://127.0.0.1:3400');
  });
});

describe('natsAddress', () => {
  it.each([
    [
      'nats://agentlens@a:4222,nats://agentlens@b:4222',
      'nats://agentlens:p%24%261@a:4222,nats://agentlens:p%24%261@b:4222',
    ],
    ['nats://agentlens:own@a:4222', 'nats://agentlens:own@a:4222'],
    ['nats://a:4222', 'nats://a:4222'],
  ])('adds the password to %s if it has only a user', (NATS_URL, expected) => {
    expect(natsAddress('.', { NATS_URL, NATS_PASSWORD: 'p$&1' })).toBe(expected);
    expect(natsAddress('.', { NATS_URL })).toBe(NATS_URL);
  });
});
