import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { basePath, contentSecurityPolicy, pageFor } from './console-page.ts';
import { CONSOLE_PAGES } from './console-server.ts';

describe('the addresses of the console', () => {
  it('are served with status 200 for every page of its router', () => {
    const router = readFileSync(join(import.meta.dirname, '../../../../apps/console/src/router.tsx'), 'utf8');
    const paths = [...router.matchAll(/(?:route|moved)\(\s*'(\/[^']*)'|path: '(\/[^']*)'/g)].map(
      ([, of, path = of ?? '']) => path.replaceAll('$', ':'),
    );
    expect(paths.length).toBeGreaterThan(30);
    const served = CONSOLE_PAGES.map((page) => new RegExp(`^${page.replaceAll(/:\w+/g, '[^/]+')}$`));
    expect(paths.filter((path) => !served.some((page) => page.test(path)))).toEqual([]);
  });
});

describe('basePath', () => {
  it('is the root if no proxy stripped a prefix', () => {
    expect(basePath(undefined)).toBe('/');
    expect(basePath('')).toBe('/');
  });

  it('is the prefix that a proxy stripped, with a trailing slash', () => {
    expect(basePath('/tools/agentlens')).toBe('/tools/agentlens/');
    expect(basePath('/agentlens/')).toBe('/agentlens/');
  });

  it.each(['"><script>', '//evil.example', '/a b', 'https://evil.example/', '/a/../b"'])(
    'is the root if the prefix %s is not a plain path',
    (prefix) => {
      expect(basePath(prefix)).toBe('/');
    },
  );
});

describe('pageFor', () => {
  it('writes the base and the nonce into the built page', () => {
    const page = '<base href="/" /><meta property="csp-nonce" content="" />';
    expect(pageFor(page, '/x/', 'n1')).toBe('<base href="/x/" /><meta property="csp-nonce" content="n1" nonce="n1" />');
  });
});

describe('contentSecurityPolicy', () => {
  it('forbids inline scripts and framing', () => {
    const policy = contentSecurityPolicy('n1');
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain('unsafe');
    expect(policy).toContain("frame-ancestors 'none'");
  });
});
