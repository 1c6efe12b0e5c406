import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { refuseAddress } from './index.ts';

const CLOSED = { allow: [] };
const HOME = { allow: ['127.0.0.1/32'] };

const LOOPBACK = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://127.0.1/',
  'https://127.255.255.254/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://127.0.0.1./',
  'https://１２７.0.0.1/',
  'https://127。0。0。1/',
  'https://%31%32%37.0.0.1/',
  'https://0.0.0.0/',
  'https://0/',
  'https://[::1]/',
  'https://[::]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[0:0:0:0:0:ffff:7f00:0001]/',
  'https://[::127.0.0.1]/',
  'https://[::ffff:0:127.0.0.1]/',
  'https://[64:ff9b::127.0.0.1]/',
  'https://[64:ff9b:1::127.0.0.1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001:db8::5efe:127.0.0.1]/',
  'https://[2600::5efe:127.0.0.1]/',
  'https://localhost/',
  'https://localhost./',
  'https://LOCALHOST/',
  'https://foo.localhost/',
];

const NOT_PUBLIC = [
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.168.1.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://[fd00:ec2::254]/',
  'https://[::ffff:169.254.169.254]/',
  'https://[2002:a9fe:a9fe::]/',
  'https://100.100.100.200/',
  'https://192.0.0.192/',
  'https://168.63.129.16/',
  'https://198.18.0.1/',
  'https://192.0.2.1/',
  'https://198.51.100.1/',
  'https://203.0.113.1/',
  'https://224.0.0.1/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://[fe80::1]/',
  'https://[fec0::1]/',
  'https://[fc00::1]/',
  'https://[ff02::1]/',
  'https://[2001::1]/',
  'https://[2001:db8::1]/',
  'https://[100::1]/',
  'https://[4000::1]/',
];

const MALFORMED = [
  'not a url',
  '',
  'https://',
  'https:///',
  'https://[::1/',
  'https://[fe80::1%25eth0]/',
  'https://256.256.256.256/',
  'https://1.2.3.4.5/',
  'https://exa mple.com/',
  'https://example.com:99999/',
  '//example.com/hook',
];

const OTHER_SCHEMES = [
  'file:///etc/passwd',
  'ftp://example.com/',
  'gopher://example.com:443/_',
  'data:text/plain,hello',
  'javascript:alert(1)',
  'ws://example.com/',
  'unix:/var/run/docker.sock',
];

describe('addresses refused as written', () => {
  it.each(LOOPBACK)("refuses %s, a form of this machine's address", (url) => {
    expect(refuseAddress(url, CLOSED)).toMatch(/AGENTLENS_EGRESS_ALLOW/);
  });

  it.each(NOT_PUBLIC)('refuses %s, which is not on the public internet', (url) => {
    expect(refuseAddress(url, CLOSED)).toMatch(/^points to an? .*AGENTLENS_EGRESS_ALLOW/);
  });

  it.each(MALFORMED)('refuses "%s", which is not a URL', (url) => {
    expect(refuseAddress(url, CLOSED)).toMatch(/not a valid URL/);
  });

  it.each(OTHER_SCHEMES)('refuses %s because of its scheme', (url) => {
    expect(refuseAddress(url, CLOSED)).toMatch(/must be an https address/);
  });

  it.each(['https://user@example.com/', 'https://user:secret@example.com/', 'https://:secret@example.com/'])(
    'refuses credentials in %s without quoting them',
    (url) => {
      const reason = refuseAddress(url, CLOSED);
      expect(reason).toMatch(/user name or password/);
      expect(reason).not.toMatch(/secret/);
    },
  );

  it.each(['http://example.com/', 'http://93.184.215.14/', 'http://example.com:443/'])('refuses plain %s', (url) => {
    expect(refuseAddress(url, CLOSED)).toMatch(/must use https/);
  });

  it.each(['https://example.com:22/', 'https://example.com:6379/', 'https://93.184.215.14:8080/'])(
    'refuses the port of %s',
    (url) => {
      expect(refuseAddress(url, CLOSED)).toMatch(/port 443 or 8443/);
    },
  );
});

describe('addresses accepted as written', () => {
  it.each([
    'https://example.com/hook?x=1',
    'https://example.com:443/',
    'https://example.com:8443/',
    'https://EXAMPLE.com./',
    'https://example.com\\@127.0.0.1/', // a backslash ends the host, for us and for the client
    'https://xn--bcher-kva.example/',
    'https://93.184.215.14/',
    'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/',
    'https://[::ffff:93.184.215.14]/',
  ])('accepts %s', (url) => {
    expect(refuseAddress(url, CLOSED)).toBeNull();
  });
});

describe('networks allowed by the operator', () => {
  it.each(['http://127.0.0.1:3000/', 'https://127.0.0.1/', 'http://2130706433:3000/', 'http://[::ffff:127.0.0.1]:9/'])(
    'accepts %s with any scheme and port',
    (url) => {
      expect(refuseAddress(url, HOME)).toBeNull();
    },
  );

  it.each(['http://127.0.0.2/', 'http://[::1]/', 'https://10.0.0.1/', 'https://[64:ff9b::127.0.0.1]/'])(
    'still refuses %s',
    (url) => {
      expect(refuseAddress(url, HOME)).toMatch(/AGENTLENS_EGRESS_ALLOW/);
    },
  );

  it('checks both an address and the address embedded in it', () => {
    expect(refuseAddress('https://[64:ff9b::10.0.0.1]/', { allow: ['64:ff9b::/96'] })).toMatch(/private/);
    expect(refuseAddress('https://[64:ff9b::93.184.215.14]/', { allow: ['64:ff9b::/96'] })).toBeNull();
    expect(refuseAddress('http://[64:ff9b::10.0.0.1]/', { allow: ['64:ff9b::/96', '10.0.0.0/8'] })).toBeNull();
  });

  it('requires https and public ports for public addresses', () => {
    expect(refuseAddress('http://93.184.215.14/', HOME)).toMatch(/must use https/);
    expect(refuseAddress('https://93.184.215.14:22/', HOME)).toMatch(/port 443/);
  });

  it('accepts names, which are checked when connecting because they may be in an allowed network', () => {
    expect(refuseAddress('http://agentgate.internal:8080/', HOME)).toBeNull();
    expect(refuseAddress('http://localhost:3000/', HOME)).toBeNull();
  });

  it('treats an entry without a prefix length as a single address', () => {
    expect(refuseAddress('http://10.1.2.3/', { allow: ['10.1.2.3'] })).toBeNull();
    expect(refuseAddress('http://10.1.2.4/', { allow: ['10.1.2.3'] })).toMatch(/private/);
    expect(refuseAddress('http://[fd00::1]/', { allow: ['fd00::/8'] })).toBeNull();
  });

  it('rejects an invalid entry by name', () => {
    expect(() => refuseAddress('https://example.com/', { allow: ['10.0.0.0/33'] })).toThrow('"10.0.0.0/33"');
    expect(() => refuseAddress('https://example.com/', { allow: ['localhost'] })).toThrow('"localhost"');
  });
});

describe('spellings', () => {
  const hex = (n: number, width = 0) => n.toString(16).padStart(width, '0');

  it('of one IPv4 address get the same verdict', () => {
    const near = fc.constantFrom(0x7f000001, 0x0a000000, 0xa9fea9fe, 0xac100000, 0xc0a80000, 0x64400000, 0x08080808);
    const anywhere = fc.oneof(
      fc.integer({ min: 0, max: 0xffffffff }),
      fc.tuple(near, fc.integer({ min: -512, max: 512 })).map(([base, offset]) => base + offset),
    );
    fc.assert(
      fc.property(anywhere, (address) => {
        const bytes = [address >>> 24, (address >>> 16) & 255, (address >>> 8) & 255, address & 255];
        const spellings = [
          bytes.join('.'),
          String(address),
          `0x${hex(address)}`,
          `0${address.toString(8)}`,
          bytes.map((byte) => `0x${hex(byte)}`).join('.'),
          `${bytes[0]}.${address & 0xffffff}`,
          `${bytes.join('.')}.`,
          `[::ffff:${bytes.join('.')}]`,
          `[0:0:0:0:0:ffff:${hex(address >>> 16)}:${hex(address & 0xffff)}]`,
        ];
        const verdicts = new Set(spellings.map((host) => refuseAddress(`https://${host}/`, CLOSED)));
        return verdicts.size === 1;
      }),
      { numRuns: 500 },
    );
  });

  it('inside IPv6 never make a refused IPv4 address acceptable', () => {
    const inside = fc.constantFrom('7f00:1', 'a00:1', 'a9fe:a9fe', 'c0a8:101');
    const wrapped = inside.chain((v4) =>
      fc.constantFrom(
        `::${v4}`,
        `::ffff:${v4}`,
        `::ffff:0:${v4}`,
        `64:ff9b::${v4}`,
        `2002:${v4}::`,
        `2600::5efe:${v4}`,
      ),
    );
    fc.assert(fc.property(wrapped, (host) => refuseAddress(`https://[${host}]/`, CLOSED) !== null));
  });
});
