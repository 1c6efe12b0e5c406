import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');

describe('published files', () => {
  it('contain no placeholder for an owner or an address', () => {
    const { stdout } = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
    const files = stdout
      .split('\0')
      .filter((file) =>
        /^(\.github\/|[A-Z]+\.md$|docs\/|scripts\/|.*package\.json$|python\/pyproject\.toml)/.test(file),
      )
      .filter((file) => /\.(ya?ml|json|toml|mjs|md)$|CODEOWNERS$/.test(file));
    expect(files.length).toBeGreaterThan(80);
    const found = files.filter((file) =>
      /@OWNER\b|github\.com\/OWNER\b|security@example\.com/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(found).toEqual([]);
  });
});
