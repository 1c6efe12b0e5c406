import { Injectable } from '@nestjs/common';
import { metrics } from '@opentelemetry/api';

/**
 * What a client of a live stream was not shown: a frame it was too slow for, a changed session among more than anybody
 * reads, one that could not be read.
 */
type Unshown = 'slow_reader_frame' | 'session_change' | 'unread_session';

/** What live streams leave out. The client is told of its frames; of a session it sees the next change. */
@Injectable()
export class StreamMetrics {
  readonly #dropped = metrics.getMeter('agentlens').createCounter('agentlens.query.dropped', {
    description: 'What clients of live streams were not shown, by what it was',
  });

  dropped(what: Unshown, count: number): void {
    this.#dropped.add(count, { what });
  }
}
