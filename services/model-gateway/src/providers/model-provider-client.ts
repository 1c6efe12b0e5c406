import type { OpenedAnswer, StreamingClient, StreamingRequest } from '@agentlens/egress';

/** What sends a request to a provider. */
export interface Provider {
  open(request: StreamingRequest): Promise<OpenedAnswer>;
}

/** The HTTP client for providers, opened with the first call. */
export class ModelProviderClient implements Provider {
  readonly #create: () => StreamingClient;
  #client: StreamingClient | undefined;

  constructor(create: () => StreamingClient) {
    this.#create = create;
  }

  open(request: StreamingRequest): Promise<OpenedAnswer> {
    this.#client ??= this.#create();
    return this.#client.open(request);
  }

  async close(): Promise<void> {
    await this.#client?.close();
  }
}
