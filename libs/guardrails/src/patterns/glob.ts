import { foldedName } from './names.ts';

/** True if `text` is matched whole, in any case, by a glob whose only special character is `*`. Linear in both. */
export function globMatches(glob: string, text: string): boolean {
  return globMatchesFolded(foldedName(glob), foldedName(text));
}

/** The same for texts that are folded already. */
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
