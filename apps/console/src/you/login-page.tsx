import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import { useMay, useMe } from '../shell/me.tsx';
import { Page } from '../shell/page.tsx';
import { Empty } from '../ui/faces.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { useRejection } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { Facts, Note, Section } from '../ui/section.tsx';
import { useListSearch } from '../ui/use-list-search.ts';

/** Confirms that a program may have a personal key. The code must be the one that its terminal shows. */
export function LoginPage() {
  const { search } = useListSearch<'challenge' | 'name' | 'via'>();
  const { person } = useMe();
  const { challenge } = search;
  return (
    <Page name="you" title="Confirm a login" crumbs={[{ name: 'You', to: '/you' }]} time="Now">
      <div className="pad">
        {challenge === undefined ? (
          <Empty title="There is no login to confirm.">
            Run <code>agentlens login</code> in a terminal; it opens this page.
          </Empty>
        ) : person === undefined ? (
          <Empty title="A personal key belongs to a person.">
            You are signed in with a key. Sign in with your identity provider, or use <code>agentlens login --key</code>
            .
          </Empty>
        ) : (
          <Confirm
            challenge={challenge}
            name={search.name ?? 'agentlens login'}
            via={search.via === 'mcp' ? 'mcp' : 'cli'}
            person={person.name}
          />
        )}
      </div>
    </Page>
  );
}

interface ConfirmProps {
  readonly challenge: string;
  readonly name: string;
  readonly via: 'cli' | 'mcp';
  readonly person: string;
}

/** What the terminal shows, too: the start of the challenge in two groups. */
function codeFrom(challenge: string): string {
  return `${challenge.slice(0, 4)} ${challenge.slice(4, 8)}`;
}

function Confirm({ challenge, name, via, person }: ConfirmProps) {
  const [isDone, setIsDone] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const rejection = useRejection();
  const { may: mayReview } = useMay('review');
  const confirm = async () => {
    rejection.clear();
    setIsBusy(true);
    try {
      await client.confirmLogin({
        body: { challenge, name, via, scopes: mayReview ? ['read', 'review'] : ['read'] },
      });
      setIsDone(true);
    } catch (error) {
      rejection.set(error);
    } finally {
      setIsBusy(false);
    }
  };
  if (isDone) {
    return (
      <Empty
        title="Confirmed. Go back to the terminal."
        act={
          <Link className="b" to="/you">
            Your personal keys
          </Link>
        }
      >
        It collects its key within a few seconds. You can revoke it under You.
      </Empty>
    );
  }
  return (
    <Section first title={via === 'mcp' ? 'An MCP client wants to act as you' : 'A command line wants to act as you'}>
      <p className="lead1 num mono">{codeFrom(challenge)}</p>
      <p>Confirm only if your own terminal shows this code now.</p>
      <Facts
        facts={[
          ['Program', visibleName(name)],
          ['Acts as', visibleName(person)],
          ['May', mayReview ? 'read, and vote where a policy accepts it' : 'read'],
          ['Works', '30 days, and not longer than your roles'],
        ]}
      />
      <Note tone="warn" icon={<Icon name="warnt" size={14} />}>
        If someone sent you this link, do not confirm: the key would be theirs.
      </Note>
      <div className="btns topped">
        <button
          type="button"
          className="b pri"
          aria-disabled={isBusy || undefined}
          onClick={() => !isBusy && void confirm()}
        >
          Confirm
        </button>
        <Link className="b" to="/you">
          Do not confirm
        </Link>
      </div>
      <FailureLine>{rejection.besides()}</FailureLine>
    </Section>
  );
}
