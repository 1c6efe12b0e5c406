export interface ServerSentEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

const MOST_EVENT_CHARS = 1_000_000;

/** The events of a text/event-stream, by the rules of the HTML standard. Comments keep the line alive, no more. */
export async function* serverSentEvents(chunks: AsyncIterable<string>): AsyncGenerator<ServerSentEvent> {
  let rest = '';
  let lastId = '';
  let event = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    rest += chunk;
    if (rest.length > MOST_EVENT_CHARS) throw new Error('an event of the control stream has no end');
    // A carriage return at the very end may be the first half of a line end.
    const whole = rest.endsWith('\r') ? rest.slice(0, -1) : rest;
    const lines = whole.split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? '') + rest.slice(whole.length);
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { id: lastId, event: event === '' ? 'message' : event, data: data.join('\n') };
        event = '';
        data = [];
        continue;
      }
      const [name, value] = field(line);
      if (name === 'data') data.push(value);
      else if (name === 'event') event = value;
      else if (name === 'id' && !value.includes('\0')) lastId = value;
    }
  }
}

function field(line: string): [string, string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [line, ''];
  const value = line.slice(colon + 1);
  return [line.slice(0, colon), value.startsWith(' ') ? value.slice(1) : value];
}
