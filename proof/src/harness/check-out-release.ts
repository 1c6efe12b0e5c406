import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkOut } from './checkout.ts';
import { findRelease } from './release.ts';

// Builds the release that changes are compared with, and leaves it: node proof/src/harness/check-out-release.ts FILE
// FILE then names the folder, which "git worktree remove" removes.
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('name the file that will hold the path of the checkout');
const root = join(import.meta.dirname, '../../..');
const checkout = await checkOut(root, await findRelease(root), (text) => process.stderr.write(`${text}\n`));
await writeFile(file, `${checkout.root}\n`);
