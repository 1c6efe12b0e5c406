import { RE2JS } from 're2js';

/** Removes `.` and `..`, so that two spellings of one file are equal. */
export function normalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return (path.startsWith('/') ? '/' : '') + parts.join('/');
}

const compiled = new Map<string, RE2JS>();
const MAX_COMPILED_PATTERNS = 1_000;

/** `**` matches any folders, `*` and `?` stay within one name, `{a,b}` is either. Case-sensitive. */
export function matchesGlob(path: string, glob: string): boolean {
  let pattern = compiled.get(glob);
  if (pattern === undefined) {
    if (compiled.size >= MAX_COMPILED_PATTERNS) compiled.clear();
    pattern = RE2JS.compile(globToPattern(glob), RE2JS.DOTALL);
    compiled.set(glob, pattern);
  }
  return pattern.matches(path);
}

function globToPattern(glob: string): string {
  let pattern = '';
  let braces = 0;
  for (let at = 0; at < glob.length; at++) {
    const unit = glob.charAt(at);
    if (glob.startsWith('**/', at)) {
      pattern += '(?:.*/)?';
      at += 2;
    } else if (glob.startsWith('**', at)) {
      pattern += '.*';
      at += 1;
    } else if (unit === '*') pattern += '[^/]*';
    else if (unit === '?') pattern += '[^/]';
    else if (unit === '{') {
      pattern += '(?:';
      braces += 1;
    } else if (unit === '}' && braces > 0) {
      pattern += ')';
      braces -= 1;
    } else if (unit === ',' && braces > 0) pattern += '|';
    else pattern += RE2JS.quote(unit);
  }
  return pattern + ')'.repeat(braces);
}
