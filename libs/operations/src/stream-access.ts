import { Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/** How a client that cannot send headers says who it is when it opens an event stream. */
export const streamAccess = {
  token: z.string().optional().meta({ description: 'The API key, where a header cannot be sent. Better: `ticket`.' }),
  ticket: z.string().optional().meta({ description: 'A ticket for event streams, instead of the API key.' }),
};

export const StreamTicketAnswer = z
  .object({
    ticket: z.string().meta({ description: 'For `?ticket=`: it stands for the key that asked for it.' }),
    expiresAt: Instant.meta({ description: 'A minute from now. Streams that are open by then go on.' }),
  })
  .meta({ id: 'StreamTicket' });
