import { client } from '../api/client.ts';
import { count } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { useMay } from '../shell/me.tsx';
import { Read } from '../ui/faces.tsx';
import { Ago } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';

const SHOWN = 5;

/** Dead letters of this tenant. */
export function GivenUp() {
  const { may, why } = useMay('admin');
  return <Section title="Dead letters">{may ? <Letters /> : <p className="t2">{why}</p>}</Section>;
}

function Letters() {
  const query = { limit: SHOWN };
  const letters = useRead(['system', 'dead-letters'], (signal) => client.listDeadLetters({ query, signal }));
  return (
    <Read read={letters} what="The dead letters" rows={2}>
      {({ deadLetters, total = 0, hasMore }) =>
        deadLetters.length === 0 ? (
          <p className="t2">No dead letters.</p>
        ) : (
          <>
            <Facts
              facts={deadLetters.map(
                ({ group, messageId, reason, failedAt }) =>
                  [
                    `${group}, ${messageId}`,
                    <span key={messageId}>
                      {reason}, <Ago at={failedAt} />
                    </span>,
                  ] as const,
              )}
            />
            {hasMore && <p className="t2">Oldest of {count(total)}.</p>}
          </>
        )
      }
    </Read>
  );
}
