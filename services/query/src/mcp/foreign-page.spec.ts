import { describe, expect, it } from '@jest/globals';
import { isForeignPage } from './mcp-endpoint.ts';

describe('a request to the MCP server', () => {
  it.each([
    ['of a program', undefined, 'lens.example.com', false],
    ['from a page on this machine', 'http://localhost:3400', 'localhost:3400', false],
    ['from a page at an IPv4 address', 'http://127.0.0.1:3400', '127.0.0.1:3400', false],
    ['from a page at an IPv6 address', 'http://[::1]:3400', '[::1]:3400', false],
    ['from another site', 'https://evil.example', '127.0.0.1:3400', true],
    ['from a page on another port', 'http://localhost:8080', 'localhost:3400', true],
    ['from a name that DNS points at this machine', 'http://evil.example:3400', 'evil.example:3400', true],
    ['from a sandboxed page', 'null', '127.0.0.1:3400', true],
  ])('%s: is it foreign?', (_what, origin, host, foreign) => {
    expect(isForeignPage({ headers: { origin, host } })).toBe(foreign);
  });
});
