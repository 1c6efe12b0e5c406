/** JSON-RPC, as much of it as a proxy looks at. */
export type Id = string | number;

export interface Message {
  readonly jsonrpc?: string;
  readonly id?: Id | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code?: number; readonly message?: string };
}

/** A tool's call, as a client asks for it. */
export interface ToolCallRequest extends Message {
  readonly id: Id;
  readonly params: {
    readonly name: string;
    readonly arguments?: unknown;
    readonly _meta?: { readonly progressToken?: Id };
    readonly [field: string]: unknown;
  };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The messages of one line or body; a batch has several. Undefined for what is not JSON. */
export function messagesOf(text: string): readonly Message[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return (Array.isArray(parsed) ? parsed : [parsed]).filter(isRecord);
  } catch {
    return undefined;
  }
}

export function isToolCall(message: Message): message is ToolCallRequest {
  const { method, id, params } = message;
  return method === 'tools/call' && isId(id) && typeof params?.name === 'string';
}

export function isId(id: unknown): id is Id {
  return typeof id === 'string' || typeof id === 'number';
}

/** A tool's result, which clients show to the model. An error of the protocol they would show to nobody. */
export function refusalOf(id: Id, text: string): Message {
  // Required since the protocol of 2026-07-28, ignored by older clients.
  const result = { resultType: 'complete', content: [{ type: 'text', text }], isError: true };
  return { jsonrpc: '2.0', id, result };
}
