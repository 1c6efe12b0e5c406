import { readFileSync } from 'node:fs';
import { OPERATIONS } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { apiSurface } from './api-surface.testing.ts';
import { openApiDocument } from './openapi-document.ts';

/** Of the last release, one promise a line; docs/api-versions.md says what may change. */
const released = readFileSync(new URL('./api-0.1.0.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n');
const surface = apiSurface(openApiDocument(OPERATIONS, '1'));
const today = new Set(surface);

/** What release 0.1.0 promised and we took back or ask for since, and why. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'POST /v1/runs/{runId}/evaluate body agentId=': 'an empty id is one of all texts now, taken as none as before',
};
const isAccepted = (line: string) => Object.keys(ACCEPTED).some((start) => line.startsWith(start));

describe('the HTTP API, beside the last release', () => {
  it('has what the release had', () => {
    const promised = released.filter((line) => !line.includes(' needs '));
    expect(promised.filter((line) => !today.has(line) && !isAccepted(line))).toEqual([]);
  });

  it('asks for nothing that the release did not ask for', () => {
    const before = new Set(released);
    const wasThere = (line: string) => before.has(line.slice(0, line.indexOf(' needs ')));
    const needed = surface.filter((line) => line.includes(' needs ') && wasThere(line));
    expect(needed.filter((line) => !before.has(line) && !isAccepted(line))).toEqual([]);
  });

  it('differs only where it still has to be said', () => {
    const gone = released.filter((line) => !today.has(line));
    const asked = surface.filter((line) => !released.includes(line));
    const unused = Object.keys(ACCEPTED).filter((start) => ![...gone, ...asked].some((line) => line.startsWith(start)));
    expect(unused).toEqual([]);
  });
});
