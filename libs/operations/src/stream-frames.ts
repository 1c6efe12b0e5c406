import { Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/** The stream lives; the frame's id is where to resume. */
export const Heartbeat = z.object({ time: Instant });

/** The server ends the stream after this frame. */
export const StreamClosed = z.object({ reason: z.string() });

/** What every live stream of the query service carries beside its own frames. */
export const streamSigns = {
  heartbeat: Heartbeat,
  dropped: z
    .object({ count: z.int(), lastEventId: z.string().nullable() })
    .meta({ description: 'Frames a slow reader missed, and the id to resume from to get them.' }),
  closed: StreamClosed,
};
