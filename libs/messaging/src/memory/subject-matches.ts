import { STREAMS, type StreamName } from '@agentlens/contracts';

/** Whether a subject matches a NATS pattern: `*` is one token, a final `>` is one or more. */
export function subjectMatches(pattern: string, subject: string): boolean {
  const wanted = pattern.split('.');
  const tokens = subject.split('.');
  for (const [index, token] of wanted.entries()) {
    if (token === '>') return tokens.length > index;
    if (index >= tokens.length || (token !== '*' && token !== tokens[index])) return false;
  }
  return wanted.length === tokens.length;
}

/** The stream that stores a subject. */
export function streamOf(subject: string): StreamName | undefined {
  const found = Object.values(STREAMS).find(({ subjects }) =>
    subjects.some((pattern) => subjectMatches(pattern, subject)),
  );
  return found?.name;
}
