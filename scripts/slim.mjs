// After `npm ci`: removes from node_modules what neither running nor testing reads, a third of its files: the headers of
// Node, which only compiling native modules needs, and the source maps and change logs of packages. Licences stay.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../node_modules', import.meta.url));

const UNREAD = /\.([cm]?js|d\.[cm]?ts|css)\.map$|^(readme|changelog|history)\.md$/i;

if (existsSync(packages)) {
  for (const name of readdirSync(packages).filter((folder) => /^node-(linux|darwin|win)-/.test(folder)))
    for (const part of ['include', 'share']) rmSync(join(packages, name, part), { recursive: true, force: true });
  removeUnread(packages);
}

/** Does not follow the links to our own projects. */
function removeUnread(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeUnread(path);
    else if (entry.isFile() && UNREAD.test(entry.name)) rmSync(path);
  }
}
