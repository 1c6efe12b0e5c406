import { Injectable } from '@nestjs/common';
import { metrics } from '@opentelemetry/api';

/**
 * What a live stream did not show: a frame that the client was too slow for, a changed session beyond the limit, or a
 * session that could not be read.
 */
type Unshown = 'slow_reader_frame' | 'session_change' | 'unread_session';

/**
 * Counts what live streams leave out. The client learns about dropped frames; a session is shown at its next change.
 */
@Injectable()
export class StreamMetrics {
  readonly #dropped = metrics.getMeter('agentlens').createCounter('agentlens.query.dropped', {
    description: 'Items that live streams left out, by kind',
  });

  dropped(what: Unshown, count: number): void {
    this.#dropped.add(count, { what });
  }
}
