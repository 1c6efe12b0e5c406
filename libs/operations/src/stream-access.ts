import { Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/** Authentication of event streams for clients that cannot send headers. */
export const streamAccess = {
  token: z.string().optional().meta({ description: 'API key, if headers cannot be sent. Prefer `ticket`.' }),
  ticket: z.string().optional().meta({ description: 'Ticket for event streams, instead of the API key.' }),
};

export const StreamTicketAnswer = z
  .object({
    ticket: z.string().meta({ description: 'For `?ticket=`; it replaces the key that created it.' }),
    expiresAt: Instant.meta({ description: 'A minute from now. Open streams continue.' }),
  })
  .meta({ id: 'StreamTicket' });

/** The stream is alive; resume from the frame's id. */
export const Heartbeat = z.object({ time: Instant });

/** The server ends the stream after this frame. */
export const StreamClosed = z.object({ reason: z.string() });

/** Frames of every live stream besides its own. */
export const streamSigns = {
  heartbeat: Heartbeat,
  dropped: z
    .object({ count: z.int(), lastEventId: z.string().nullable() })
    .meta({ description: 'Number of frames a slow reader missed, and the id to resume from.' }),
  closed: StreamClosed,
};
