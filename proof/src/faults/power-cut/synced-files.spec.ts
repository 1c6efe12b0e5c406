import { describe, expect, it } from '@jest/globals';
import { syncedFiles } from './synced-files.ts';

const synced = (lines: readonly string[], writtenOutBy = 0) =>
  Object.fromEntries(syncedFiles(lines.map((line, i) => `7 ${i}.000000 ${line}`).join('\n'), writtenOutBy));

describe('synced data according to a trace', () => {
  it('is what was written before the last sync', () => {
    expect(
      synced([
        'openat(AT_FDCWD</d>, "/d/1.blk", O_RDWR|O_CREAT, 0600) = 7</d/1.blk>',
        'pwrite64(7</d/1.blk>, ""..., 500, 0) = 500',
        'pwrite64(7</d/1.blk>, ""..., 500, 500) = 500',
        'fsync(7</d/1.blk>) = 0',
        'pwrite64(7</d/1.blk>, ""..., 300, 1000) = 300',
      ]),
    ).toEqual({ '/d/1.blk': 1_000 });
  });

  it('excludes writes during a sync, and a sync that did not finish', () => {
    const trace = [
      '1 0.1 write(3</d/a>, ""..., 10) = 10',
      '2 0.2 fsync(3</d/a> <unfinished ...>',
      '1 0.3 write(3</d/a>, ""..., 20) = 20',
      '2 0.4 <... fsync resumed>) = 0',
      '2 0.5 fsync(3</d/a> <unfinished ...>',
    ].join('\n');
    expect(syncedFiles(trace, 0).get('/d/a')).toBe(10);
  });

  it('includes every write to a file that was opened for synchronous writes', () => {
    expect(
      synced([
        'openat(AT_FDCWD</d>, "/d/meta.inf", O_WRONLY|O_CREAT|O_TRUNC|O_SYNC, 0600) = 8</d/meta.inf>',
        'write(8</d/meta.inf>, ""..., 451) = 451',
      ]),
    ).toEqual({ '/d/meta.inf': 451 });
  });

  it('includes everything that the system has written back in the meantime', () => {
    expect(synced(['write(3</d/a>, ""..., 10) = 10', 'write(3</d/a>, ""..., 20) = 20'], 0.5)).toEqual({ '/d/a': 10 });
  });
});
