/** One piece of prose in a file: a comment, or a string of several words. */
export interface Prose {
  readonly line: number;
  readonly text: string;
}

/** Reads the prose of a source file or a Markdown page; code, identifiers and short strings are left out. */
export function readProse(path: string, text: string): Prose[] {
  if (path.endsWith('.md')) return readMarkdown(text);
  if (path.endsWith('.py') || path.endsWith('.lua')) return readLines(text, path.endsWith('.py') ? '#' : '--');
  return readScript(text);
}

/** Markdown without fenced blocks, inline code and link targets. */
function readMarkdown(text: string): Prose[] {
  let fenced = false;
  return text.split('\n').flatMap((line, index) => {
    if (/^\s*(```|~~~)/.test(line)) {
      fenced = !fenced;
      return [];
    }
    const words = line.replaceAll(/`[^`]*`/g, '').replaceAll(/\]\([^)]*\)/g, ']');
    return fenced || words.trim() === '' ? [] : [{ line: index + 1, text: words }];
  });
}

/** Comments to the end of a line, doc strings and strings of Python and Lua, line by line. */
function readLines(text: string, comment: string): Prose[] {
  let quoted = false;
  return text.split('\n').flatMap((line, index) => {
    const wasQuoted = quoted;
    if ((line.match(/"""/g)?.length ?? 0) % 2 === 1) quoted = !quoted;
    const at = line.indexOf(comment);
    const comments = at < 0 ? [] : [line.slice(at)];
    const strings = [...line.matchAll(/(["'])((?:\\.|(?!\1).)*)\1/g)].map(([, , words = '']) => words);
    const found = wasQuoted || quoted || line.includes('"""') ? [line] : [...comments, ...strings.filter(isSentence)];
    return found.map((words) => ({ line: index + 1, text: words }));
  });
}

/** Comments and strings of TypeScript, JavaScript and CSS, and the text of JSX. */
function readScript(text: string): Prose[] {
  const found: Prose[] = [];
  const token =
    /\/\*[\s\S]*?\*\/|(?<![:\\])\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=>)[^<>{}`'"=;]*[a-z]{2,} [^<>{}`'"=;]*(?=[<{])/g;
  for (const match of text.matchAll(token)) {
    const [piece] = match;
    if (!/^\/[*/]/.test(piece) && !isSentence(piece)) continue;
    const line = text.slice(0, match.index).split('\n').length;
    found.push(...piece.split('\n').map((words, index) => ({ line: line + index, text: words })));
  }
  return found;
}

function isSentence(text: string): boolean {
  return /[a-z]{2,}[^a-zA-Z]* [^a-zA-Z]*[a-z]{2,}/i.test(text);
}
