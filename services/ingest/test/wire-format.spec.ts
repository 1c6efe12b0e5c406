import { readFileSync } from 'node:fs';
import { canonicalForm, EVENT_TYPE_NAMES, sha256Hex } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '../src/intake/limits.ts';
import { startGateway } from './gateway.ts';

const page = readFileSync(new URL('../../../docs/wire-format.md', import.meta.url), 'utf8');
const fences = [...page.slice(page.indexOf('## 5.')).matchAll(/```\w+\n([\s\S]*?)\n```/g)].map(
  (match) => match[1] ?? '',
);
const [example, form, hash] = fences;

describe('docs/wire-format.md', () => {
  it('shows the canonical form and the hash that the gateway makes of its example', async () => {
    const gateway = await startGateway();
    const answer = await gateway.post(`{"events":[${example}]}`);
    const [event] = gateway.events();
    await gateway.close();
    expect(event && canonicalForm(event)).toBe(form);
    expect(answer.body.events[0].hash).toBe(hash);
    expect(sha256Hex(form ?? '')).toBe(hash);
  });

  it('names every event type', () => {
    for (const type of EVENT_TYPE_NAMES) expect(page).toContain(`\`${type}\``);
  });

  it('names the current limits', () => {
    const { eventsPerRequest, eventBytes, stringChars, depth, keysPerObject, keyChars } = LIMITS;
    const limits = page.slice(page.indexOf('## 4.'), page.indexOf('## 5.'));
    for (const limit of [eventsPerRequest, keyChars, depth, keysPerObject]) expect(limits).toContain(String(limit));
    for (const limit of [eventBytes, stringChars]) expect(limits).toContain(limit.toLocaleString('en-US'));
  });
});
