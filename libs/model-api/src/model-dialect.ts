/** The HTTP API that a connection speaks. */
export type ModelDialect = 'anthropic' | 'openai' | 'gemini';

/** A route of a dialect that calls a model, by what its answers look like. */
export type ModelApi = 'messages' | 'chat' | 'responses' | 'embeddings' | 'generate' | 'embed';

/** What decisions, money and records need to know of a request to a model. */
export interface ModelRequest {
  readonly model: string;
  readonly streamed: boolean;
  /** The largest answer that the client asks for, in tokens. */
  readonly maxTokens?: number;
  /** How many answers it asks for at once. */
  readonly answers: number;
  /** Tools that run where the client runs. */
  readonly tools: readonly string[];
  /** Tools that the provider runs itself. */
  readonly serverTools: readonly string[];
  /** Estimated tokens of the request. */
  readonly inputTokens: number;
  /** The price class that the client asks for. The answer says which one it got. */
  readonly serviceTier?: string;
  /** Encoded images, documents and audio. */
  readonly attachments: number;
}
