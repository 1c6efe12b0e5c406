import { sign } from 'node:crypto';
import { openSigner, writeVerifierKey } from '@agentlens/log';
import { describe, expect, it } from '@jest/globals';
import { KEY, makeBundle, makeCheckpoint, makeWitness, ORIGIN } from './bundle.testing.ts';
import { verifyBundle } from './bundle.ts';
import { runVerifier } from './command.ts';
import { openCheckpoint, readVerifierKey, UnreadableInput, WrongSignature } from './note.ts';

/** A checkpoint of a public log with the cosignatures of public witnesses, as the log served it in May 2026. */
const PUBLIC = `arche2025h1.staging.ct.transparency.dev
1432088532
U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=

— arche2025h1.staging.ct.transparency.dev zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6hoGREPMHbdQ3urbllzalApkptQIgIpwtEroeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0=
— arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=
— transparency.dev/DEV:witness-little-garden 2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7sEodkRAErumC2q44vdgJY096st5BQ==
— witness1.smartit.nu/witness1 pIyCDwAAAABqEiEghIp82KWebrw7/oHQwlTAm3g2RKS4+eebl8eO0WH+/iEcxZ75W3u5hNI7TOQtmJbqmNWVuE0tgh0XwzdZsDsUAQ==
— remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==
— witness.stagemole.eu Z/euoAAAAABqEiEgw0i+7g2ENfDAWHmtRzCfKTHSDwYDJA2NmKeGi9Y8FtEyOUvVr+AJmIY/2TUFucgKi7lI7cUiOvKFYe/TmN9DAg==
`;
const PUBLIC_LOG = 'arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f';
const PUBLIC_WITNESSES = [
  'remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2',
  'witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv',
  'witness1.smartit.nu/witness1+a48c820f+BPSFWg9G6KPiO7QPryYO5Xq4oYJJ+kAvLKLSimDhoxMO',
  'transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM',
];

/** The example of C2SP tlog-cosignature, which has no key. */
const EXAMPLE = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
`;

const SECONDS = 1_679_315_147n;
const AT = '2023-03-20T12:25:47.000Z';
const one = makeWitness('witness.example/one', Buffer.alloc(32, 21));
const two = makeWitness('witness.example/two', Buffer.alloc(32, 22));
const witnesses = [one, two].map(({ key }) => readVerifierKey(key));

describe('cosignatures of witnesses', () => {
  it('of a public log are accepted', () => {
    const { size, signedBy, signatures } = openCheckpoint(
      PUBLIC,
      [PUBLIC_LOG, ...PUBLIC_WITNESSES].map(readVerifierKey),
    );
    expect(size).toBe(1_432_088_532);
    expect(signedBy).toHaveLength(5);
    expect(signatures.map(({ key, at }) => [key.name, at?.toISOString()])).toEqual([
      ['arche2025h1.staging.ct.transparency.dev', undefined],
      ['transparency.dev/DEV:witness-little-garden', '2026-05-23T21:50:24.000Z'],
      ['witness1.smartit.nu/witness1', '2026-05-23T21:50:24.000Z'],
      ['remora.n621.de', '2026-05-23T21:50:24.000Z'],
      ['witness.stagemole.eu', '2026-05-23T21:50:24.000Z'],
    ]);
  });

  it.each(PUBLIC_WITNESSES)('over another checkpoint are refused: %s', (key) => {
    const other = PUBLIC.replace('1432088532', '1432088533');
    expect(() => openCheckpoint(other, [readVerifierKey(key)])).toThrow(WrongSignature);
  });

  it('have the form of the example of the specification', () => {
    const line = EXAMPLE.split('\n').at(-2)?.split(' ').at(-1) ?? '';
    const bytes = Buffer.from(line, 'base64');
    expect([bytes.length, bytes.toString('hex', 0, 4), bytes.readBigUInt64BE(4)]).toEqual([76, '8d66cf3f', SECONDS]);
    expect(openCheckpoint(EXAMPLE, witnesses)).toMatchObject({ size: 20_852_163, signedBy: [] });
  });

  it('belong to keys of type 4 only', () => {
    const plain = readVerifierKey(writeVerifierKey(ORIGIN, openSigner(Buffer.alloc(32, 3)).publicKey));
    expect([plain.isCosigner, witnesses[0]?.isCosigner]).toEqual([false, true]);
    const asType = (type: number) => {
      const [, name = '', key = ''] = /^([^+]+)\+[^+]+\+(.+)$/.exec(one.key) ?? [];
      return `${name}+00000000+${Buffer.concat([Buffer.of(type), Buffer.from(key, 'base64').subarray(1)]).toString('base64')}`;
    };
    for (const type of [0, 2, 3, 5, 6, 255])
      expect(() => readVerifierKey(asType(type))).toThrow('the key is not an Ed25519 key');
    expect(() => readVerifierKey(asType(4))).toThrow('does not match its id');
  });

  it('count since the first of one witness', async () => {
    const note = one.cosign(one.cosign(await makeCheckpoint(['a']), SECONDS + 60n), SECONDS);
    expect(openCheckpoint(note, witnesses).signatures.map(({ at }) => at?.toISOString())).toEqual([AT]);
  });

  /** Each makes one cosignature another one. */
  const CHANGES: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
    'another time': (bytes) => Buffer.concat([bytes.subarray(0, 11), Buffer.of(7), bytes.subarray(12)]),
    'another signature': (bytes) => Buffer.concat([bytes.subarray(0, 75), Buffer.of((bytes[75] ?? 0) ^ 1)]),
    'no time': (bytes) => Buffer.concat([bytes.subarray(0, 4), bytes.subarray(12)]),
    'a byte missing': (bytes) => bytes.subarray(0, 75),
    'a byte too many': (bytes) => Buffer.concat([bytes, Buffer.of(0)]),
  };

  it.each(Object.entries(CHANGES))('with %s are refused', async (_, change) => {
    const good = one.cosign(await makeCheckpoint(['a']), SECONDS);
    const [, encoded = ''] = /([^ ]+)\n$/.exec(good) ?? [];
    const bad = good.replace(encoded, change(Buffer.from(encoded, 'base64')).toString('base64'));
    expect(openCheckpoint(good, witnesses).signedBy).toEqual(['witness.example/one']);
    expect(() => openCheckpoint(bad, witnesses)).toThrow(WrongSignature);
  });

  it.each([0n, 8_640_000_000_001n, 2n ** 63n, 2n ** 64n - 1n])('at the time %s are refused', async (seconds) => {
    const note = one.cosign(await makeCheckpoint(['a']), seconds);
    expect(() => openCheckpoint(note, witnesses)).toThrow('has no valid time');
  });

  it('do not stand for the signature of the log', async () => {
    const log = makeWitness(ORIGIN, Buffer.alloc(32, 3));
    const bundle = await makeBundle(7);
    bundle.checkpoint = log.cosign(bundle.checkpoint, SECONDS);
    const verdict = verifyBundle(JSON.stringify(bundle), { keys: [readVerifierKey(log.key)] });
    expect(verdict.status).toBe('unknown key');
  });
});

describe('evidence with cosignatures', () => {
  const run = async (sign: (note: string) => string, ...args: string[]) => {
    const bundle = await makeBundle(7);
    bundle.checkpoint = sign(bundle.checkpoint);
    const lines: string[] = [];
    const files = { readText: () => JSON.stringify(bundle), print: (line: string) => void lines.push(line) };
    return { exit: runVerifier(['bundle', 'file.json', '--key', KEY, ...args], files), text: lines.join('\n') };
  };
  const byOne = (note: string) => one.cosign(note, SECONDS);
  const byBoth = (note: string) => two.cosign(byOne(note), SECONDS);
  const known = ['--witness', one.key, '--witness', two.key];

  it('names the witnesses and their times', async () => {
    const { exit, text } = await run(byBoth, ...known, '--require-witness');
    expect({ exit, warned: text.includes('warning') }).toEqual({ exit: 0, warned: false });
    expect(text).toContain(`Witnessed by witness.example/one, at ${AT} by its clock.`);
    expect(text).toContain('Witnessed by witness.example/two');
  });

  it('needs as many witnesses as asked for', async () => {
    expect((await run(byBoth, ...known, '--quorum', '2')).exit).toBe(0);
    expect((await run(byOne, ...known, '--quorum', '1')).exit).toBe(0);
    const short = await run(byOne, ...known, '--quorum', '2');
    expect(short.exit).toBe(4);
    expect(short.text).toContain('warning: signed by 1 of your witnesses, and 2 must');
    expect((await run((note) => note, ...known, '--require-witness')).exit).toBe(4);
    expect((await run(byOne, '--require-witness')).exit).toBe(4);
  });

  it.each(['0', '3', '1.5', 'two', ''])('refuses a quorum of %j of two witnesses', async (quorum) => {
    const { exit, text } = await run(byBoth, ...known, '--quorum', quorum);
    expect({ exit, text }).toEqual({
      exit: 5,
      text: 'unreadable: --quorum must be from 1 to the number of witnesses that you give, 2',
    });
  });

  it('counts a key with two names once, and never the key of the log', async () => {
    const alias = makeWitness('witness.example/alias', Buffer.alloc(32, 21));
    const self = makeWitness('witness.example/self', Buffer.alloc(32, 3));
    const sign = (note: string) => self.cosign(alias.cosign(byOne(note), SECONDS), SECONDS);
    const args = ['--witness', one.key, '--witness', alias.key, '--witness', self.key];
    expect((await run(sign, ...args, '--quorum', '2')).exit).toBe(4);
    expect((await run(sign, '--witness', self.key, '--require-witness')).exit).toBe(4);
  });

  it('is altered if a cosignature of a known witness is of another checkpoint', async () => {
    const other =
      one
        .cosign(await makeCheckpoint(['a']), SECONDS)
        .split('\n')
        .at(-2) ?? '';
    const { exit, text } = await run((note) => `${note}${other}\n`, ...known);
    expect({ exit, first: text.split('\n')[0] }).toEqual({ exit: 1, first: 'altered' });
    expect((await run((note) => `${note}${other}\n`, '--witness', two.key)).exit).toBe(0);
  });

  it('takes a plain Ed25519 signature of a witness, which has no time', async () => {
    const { privateKey, publicKey } = openSigner(Buffer.alloc(32, 23));
    const key = writeVerifierKey('witness.example/plain', publicKey);
    const { id } = readVerifierKey(key);
    const addLine = (note: string) => {
      const signature = sign(null, Buffer.from(note.slice(0, note.indexOf('\n\n') + 1)), privateKey);
      return `${note}— witness.example/plain ${Buffer.concat([Buffer.from(id, 'hex'), signature]).toString('base64')}\n`;
    };
    const { exit, text } = await run(addLine, '--witness', key, '--require-witness');
    expect(exit).toBe(0);
    expect(text).toContain('Witnessed by witness.example/plain.');
  });

  it('does not take the key of a witness for that of the log', async () => {
    const { exit, text } = await run(byOne, '--key', one.key);
    expect({ exit, text }).toEqual({
      exit: 5,
      text: 'unreadable: --key is the key of a witness; give it with --witness',
    });
    expect(() => readVerifierKey('a+b')).toThrow(UnreadableInput);
  });
});
