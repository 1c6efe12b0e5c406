import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');

/** Where the owner of the repository stands as `OWNER`, to be filled before the first publication. */
const PLACEHOLDERS = ['.github/CODEOWNERS', '.github/ISSUE_TEMPLATE/config.yml', 'scripts/published-fields.mjs'];

describe('what is filled at publishing', () => {
  it('is the owner, in these files and no others', () => {
    const { stdout } = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
    const files = stdout.split('\0').filter((file) => /\.(ya?ml|json|toml|mjs|md)$|CODEOWNERS$/.test(file));
    expect(files.length).toBeGreaterThan(100);
    const found = files.filter((file) =>
      /(@OWNER\b|github\.com\/OWNER\b)/.test(readFileSync(join(root, file), 'utf8')),
    );
    expect(found.sort()).toEqual(PLACEHOLDERS);
  });
});
