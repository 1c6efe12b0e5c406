/** One simple command of a shell line. */
export interface ShellCommand {
  /** Words without quotes; assignments before the command are left out. */
  readonly words: readonly string[];
  /** Files that the command's output goes to. */
  readonly writes: readonly string[];
  /** Files that the command reads by redirection. */
  readonly reads: readonly string[];
  /** Whether the command reads the output of another one. */
  readonly piped: boolean;
  /** Contains a substitution, whose text is only known when it runs. */
  readonly opaque: boolean;
}

interface Token {
  readonly kind: 'word' | 'operator' | 'redirect';
  readonly text: string;
  readonly opaque: boolean;
}

const OPERATORS = ['&&', '||', ';;', '|&', ';', '|', '&', '\n', '(', ')'];
const REDIRECTS = ['<<<', '<<-', '&>>', '<<', '>>', '&>', '>|', '>&', '<&', '<>', '>', '<'];
const MAX_CHARS = 100_000;

/** Splits a shell line into simple commands. Nothing is expanded: it helps rules, it is no shell. */
export function shellCommands(line: string): ShellCommand[] {
  const commands: ShellCommand[] = [];
  let tokens: Token[] = [];
  let piped = false;
  const flush = (operator: string) => {
    if (tokens.length > 0) commands.push(commandOf(tokens, piped));
    piped = operator === '|' || operator === '|&';
    tokens = [];
  };
  for (const token of tokensOf(line.slice(0, MAX_CHARS))) {
    if (token.kind === 'operator') flush(token.text);
    else tokens.push(token);
  }
  flush('');
  return commands;
}

function commandOf(tokens: readonly Token[], piped: boolean): ShellCommand {
  const words: string[] = [];
  const writes: string[] = [];
  const reads: string[] = [];
  let opaque = false;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === undefined) break;
    opaque ||= token.opaque;
    if (token.kind === 'word') {
      if (words.length > 0 || !/^\w+\+?=/.test(token.text)) words.push(token.text);
      continue;
    }
    const target = tokens[at + 1];
    if (target?.kind !== 'word') continue;
    at++;
    opaque ||= target.opaque;
    // `2>&1` names a descriptor.
    if (/^&?\d+$|^-$/.test(target.text)) continue;
    if (token.text.includes('>')) writes.push(target.text);
    else if (token.text === '<') reads.push(target.text);
  }
  return { words, writes, reads, piped, opaque };
}

function* tokensOf(line: string): Generator<Token> {
  let at = 0;
  let word: string | undefined;
  let opaque = false;
  const taken = (): Token[] => {
    if (word === undefined) return [];
    const token: Token = { kind: 'word', text: word, opaque };
    word = undefined;
    opaque = false;
    return [token];
  };
  while (at < line.length) {
    const rest = line.slice(at, at + 3);
    const char = line.charAt(at);
    if (char === '\\') {
      // A line that goes on.
      if (line.charAt(at + 1) !== '\n') word = (word ?? '') + line.charAt(at + 1);
      at += 2;
    } else if (char === "'") {
      const end = endOf(line, "'", at + 1);
      word = (word ?? '') + line.slice(at + 1, end);
      at = end + 1;
    } else if (char === '"') {
      const end = endOfDouble(line, at + 1);
      const inside = line.slice(at + 1, end);
      opaque ||= /`|\$\(/.test(inside);
      word = (word ?? '') + inside.replaceAll(/\\(["\\$`])/g, '$1');
      at = end + 1;
    } else if (char === '`') {
      // The text inside runs as well, so it is read as commands of its own.
      yield* taken();
      const end = endOf(line, '`', at + 1);
      word = '`';
      opaque = true;
      yield* taken();
      yield { kind: 'operator', text: ';', opaque: false };
      yield* tokensOf(line.slice(at + 1, end));
      yield { kind: 'operator', text: ';', opaque: false };
      at = end + 1;
    } else if (char === '$' && line.charAt(at + 1) === '(') {
      word = `${word ?? ''}$`;
      opaque = true;
      yield* taken();
      at++;
    } else if (char === '$' && line.charAt(at + 1) === "'") {
      const end = endOf(line, "'", at + 2);
      word = (word ?? '') + line.slice(at + 2, end);
      opaque = true;
      at = end + 1;
    } else if (char === '#' && word === undefined) {
      at = endOf(line, '\n', at);
    } else {
      const redirect = REDIRECTS.find((one) => rest.startsWith(one));
      const operator = OPERATORS.find((one) => rest.startsWith(one));
      if (redirect !== undefined) {
        // A number directly before it is a descriptor.
        if (word !== undefined && /^\d+$/.test(word)) word = undefined;
        yield* taken();
        yield { kind: 'redirect', text: redirect, opaque: false };
        at += redirect.length;
      } else if (operator !== undefined) {
        yield* taken();
        yield { kind: 'operator', text: operator, opaque: false };
        at += operator.length;
      } else if (/\s/.test(char)) {
        yield* taken();
        at++;
      } else {
        word = (word ?? '') + char;
        at++;
      }
    }
  }
  yield* taken();
}

function endOf(line: string, mark: string, from: number): number {
  const found = line.indexOf(mark, from);
  return found === -1 ? line.length : found;
}

function endOfDouble(line: string, from: number): number {
  for (let at = from; at < line.length; at++) {
    if (line.charAt(at) === '\\') at++;
    else if (line.charAt(at) === '"') return at;
  }
  return line.length;
}
