import { foldedName } from './names.ts';

/** Returns true if a glob matches all of `text`, ignoring case. `*` is the only special character. Linear in both. */
export function globMatches(glob: string, text: string): boolean {
  return globMatchesFolded(foldedName(glob), foldedName(text));
}

/** Like `globMatches`, for case-folded arguments. */
export function globMatchesFolded(glob: string, text: string): boolean {
  const star = glob.indexOf('*');
  if (star < 0) return glob === text;
  const pieces = glob.split('*');
  const head = pieces[0] ?? '';
  const tail = pieces.at(-1) ?? '';
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let at = head.length;
  const end = text.length - tail.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
