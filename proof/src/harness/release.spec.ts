import { describe, expect, it } from '@jest/globals';
import { newestRelease } from './release.ts';

describe('the release that a build is compared with', () => {
  it('is the newest tag of a version', () => {
    expect(newestRelease(['v1.10.0', 'v1.9.3', 'v0.2.0'])).toBe('v1.10.0');
    expect(newestRelease(['v1.0.0-rc.1', 'v0.3.1', 'v0.3.0'])).toBe('v0.3.1');
  });

  it('cannot be older than 0.2.0', () => {
    expect(newestRelease(['v0.1.9', 'v0.1.0', 'verify', ''])).toBeUndefined();
    expect(newestRelease(['v0.2.0'])).toBe('v0.2.0');
  });
});
