import { describe, expect, it } from '@jest/globals';
import { connectNatsBus } from './connect-nats-bus.ts';
import { InvalidNatsAddress, natsServers } from './server-addresses.ts';

const LOGIN = { user: 'platform', pass: 'secret' };

describe('NATS server addresses', () => {
  it.each([
    ['a host name without a dot', 'nats://platform:secret@nats:4222', ['nats:4222']],
    ['localhost', 'nats://platform:secret@localhost:4222', ['localhost:4222']],
    ['a host name with dots', 'nats://platform:secret@nats.example.com:4222', ['nats.example.com:4222']],
    ['IPv4', 'nats://platform:secret@127.0.0.1:4222', ['127.0.0.1:4222']],
    ['IPv6', 'nats://platform:secret@[::1]:4222', ['[::1]:4222']],
    ['another scheme', 'tls://platform:secret@nats:443', ['nats:443']],
    ['no scheme', 'platform:secret@nats:4222', ['nats:4222']],
    ['no port', 'nats://platform:secret@nats', ['nats']],
    ['a comma-separated list', 'nats://platform:secret@a:4222, nats://b:4222', ['a:4222', 'b:4222']],
    ['an array', ['nats://platform:secret@a:1', 'nats://platform:secret@b:2'], ['a:1', 'b:2']],
  ])('separates the credentials from %s', (_, addresses, servers) => {
    expect(natsServers(addresses)).toEqual({ servers, ...LOGIN });
  });

  it.each([
    ['nats://nats:4222', 'nats:4222'],
    ['localhost', 'localhost'],
    ['nats://127.0.0.1:4222', '127.0.0.1:4222'],
    ['nats://[::1]:4222', '[::1]:4222'],
    ['::1', '[::1]'],
  ])('accepts %s without credentials', (address, server) => {
    expect(natsServers(address)).toEqual({ servers: [server] });
  });

  it('decodes percent-encoded credentials', () => {
    const address = 'nats://pl%40tform:p%3Aa%2Fss%25%23@nats:4222';
    expect(natsServers(address)).toEqual({ servers: ['nats:4222'], user: 'pl@tform', pass: 'p:a/ss%#' });
  });

  it.each([
    'nats://platform:sec/ret@nats:4222',
    'nats://platform:sec%ret@nats:4222',
    'nats://platform:secret@::1',
    'nats://platform:secret@nats:99999',
    'nats://platform:secret@',
    '',
  ])('rejects %j and names the variable, not its value', (address) => {
    const rejected = () => natsServers(['nats://a:4222', address]);
    expect(rejected).toThrow(InvalidNatsAddress);
    expect(rejected).toThrow(/^NATS_URL: address 2 of 2 /);
    expect(rejected).not.toThrow(/sec|ret@/);
  });

  it('rejects a list with different credentials', () => {
    expect(() => natsServers('nats://a:one@a:4222,nats://a:two@b:4222')).toThrow(InvalidNatsAddress);
  });

  it('fails to connect without retrying if the address is invalid', async () => {
    const opening = connectNatsBus({ servers: 'nats://u:p@', name: 'spec', connectTimeoutMs: Number.MAX_SAFE_INTEGER });
    await expect(opening).rejects.toThrow(InvalidNatsAddress);
  });
});
