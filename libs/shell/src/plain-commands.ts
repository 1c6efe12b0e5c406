import type { Command, CommandNode, ParsedScript, PipelineNode, Redirection, Statement, Word } from 'unbash';

/** Outside quotes: no expansion, no separator, no escape. */
const SAFE_UNQUOTED = /^[\p{L}\p{N}_@%+=:,./-]*$/u;
/** Inside double quotes. */
const SAFE_DOUBLE_QUOTED = /^[^$`\\]*$/;
/** Between two words or redirections. */
const GAP = /^[ \t\n]*(?:(?:&&|\|\||\||;)[ \t\n]*)?$/;

interface Span {
  readonly pos: number;
  readonly end: number;
}

/**
 * The words of every command if the whole text consists of simple commands joined by `&& || ; |` and newlines, and the
 * shell changes nothing in the words but their quotes; otherwise null. Checks the text itself in addition to the
 * parser's tree, so that a parser bug cannot let anything through.
 */
export function plainCommands(text: string, script: ParsedScript): readonly (readonly string[])[] | null {
  if ((script.errors?.length ?? 0) > 0 || script.shebang !== undefined || script.commands.length === 0) return null;
  const commands: Command[] = [];
  if (!script.commands.every((statement) => collect(statement, commands))) return null;
  const spans: Span[] = [];
  const argvs: string[][] = [];
  for (const command of commands) {
    const argv = plainCommand(command, spans);
    if (argv === null) return null;
    argvs.push(argv);
  }
  return onlyGapsBetween(text, spans) ? argvs : null;
}

function collect(statement: Statement, into: Command[]): boolean {
  if (statement.background === true) return false;
  const { command } = statement;
  if (command.type === 'AndOr') return command.commands.every((part) => collectPipeline(part, into));
  return collectPipeline(command, into);
}

function collectPipeline(node: PipelineNode, into: Command[]): boolean {
  if (node.type !== 'Pipeline') return collectCommand(node, into);
  if (node.prefixes.length > 0 || node.operators.some((operator) => operator !== '|')) return false;
  return node.commands.every((command) => collectCommand(command, into));
}

function collectCommand(node: CommandNode, into: Command[]): boolean {
  if (node.type !== 'Command') return false;
  into.push(node);
  return true;
}

function plainCommand(command: Command, spans: Span[]): string[] | null {
  if (command.name === undefined || command.prefix.length > 0) return null;
  const argv: string[] = [];
  for (const part of [command.name, ...command.suffix]) {
    spans.push(part);
    if (part.type === 'Word') {
      const value = plainWord(part);
      if (value === null) return null;
      argv.push(value);
    } else if (part.type === 'Assignment') {
      // `make A=b`: after the name an assignment is an ordinary argument.
      if (!SAFE_UNQUOTED.test(part.text)) return null;
      argv.push(part.text);
    } else if (!isHarmless(part)) return null;
  }
  return argv;
}

function plainWord(word: Word): string | null {
  if (word.parts === undefined) return isSafeUnquoted(word.text) && word.text === word.value ? word.value : null;
  let value = '';
  for (const [index, part] of word.parts.entries()) {
    if (part.type === 'Literal') {
      if (!SAFE_UNQUOTED.test(part.text) || part.text !== part.value) return null;
      if (index === 0 && part.text.startsWith('~')) return null;
      value += part.value;
    } else if (part.type === 'SingleQuoted') {
      if (part.text !== `'${part.value}'`) return null;
      value += part.value;
    } else if (part.type === 'DoubleQuoted') {
      const inside = part.text.slice(1, -1);
      if (part.text !== `"${inside}"` || !SAFE_DOUBLE_QUOTED.test(inside) || inside.includes('"')) return null;
      value += inside;
    } else return null;
  }
  return value === word.value && !value.includes('\0') ? value : null;
}

function isSafeUnquoted(text: string): boolean {
  return text !== '' && SAFE_UNQUOTED.test(text);
}

/** Between descriptors, or to and from /dev/null. */
function isHarmless(redirect: Redirection): boolean {
  if (redirect.type !== 'Redirect' || redirect.target === undefined) return false;
  if (redirect.descriptor?.type === 'FileDescriptorVariable') return false;
  const { text } = redirect.target;
  if (redirect.operator === '>&' || redirect.operator === '<&') return /^(?:\d|-)$/.test(text);
  return ['>', '>>', '<', '&>', '&>>', '>|'].includes(redirect.operator) && text === '/dev/null';
}

function onlyGapsBetween(text: string, spans: readonly Span[]): boolean {
  let at = 0;
  for (const [index, { pos, end }] of spans.entries()) {
    const gap = text.slice(at, pos);
    if (pos < at || !(index === 0 ? /^[ \t\n]*$/ : GAP).test(gap)) return false;
    at = end;
  }
  return /^[ \t\n]*;?[ \t\n]*$/.test(text.slice(at));
}
