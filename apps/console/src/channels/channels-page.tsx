import { useState } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Channel, ListedSilence, Routing } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { Page } from '../shell/page.tsx';
import { Act } from '../ui/act.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { Icon } from '../ui/icon.tsx';
import { type Mark, State } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { Note, Section } from '../ui/section.tsx';
import { toastError } from '../ui/toast.tsx';
import { useChange } from '../ui/use-change.ts';

const HEALTH: Readonly<Record<Channel['health']['state'], Mark>> = {
  ok: { icon: 's-succeeded', tone: 'succeeded', word: 'Works' },
  failing: { icon: 's-failed', tone: 'failed', word: 'Fails' },
  unused: { icon: 'v-no', tone: 'no', word: 'Not used yet' },
};

/** Where people are notified, which alerts go there, and what is silent now. */
export function ChannelsPage() {
  return (
    <Page name="settings" title="Channels and routes" time="Now">
      <div className="pad">
        <ChannelList />
        <RouteTree />
        <SilenceList />
      </div>
    </Page>
  );
}

function ChannelList() {
  const channels = useRead(['channels'], (signal) => client.listChannels({ signal }));
  const run = useChange('channels');
  return (
    <Section first title="Channels">
      <Read read={channels} what="Channels" rows={2}>
        {(data) =>
          data.channels.length === 0 ? (
            <Empty title="No channels yet.">
              Create one with <code>agentlens channels set ops channel.yaml</code>: Slack, Teams, PagerDuty,
              Alertmanager, e-mail or a webhook.
            </Empty>
          ) : (
            <ul className="sim">
              {data.channels.map((channel) => (
                <li key={channel.id}>
                  <span className="row wrap">
                    <span className="strong">{channel.name ?? channel.id}</span>
                    <span className="t3">{channel.kind}</span>
                    <State mark={HEALTH[channel.health.state]} />
                    <span className="ml">
                      <Act scope="operate" kind="sm" onPress={() => void run('Tested', () => test(channel.id))}>
                        Send test
                      </Act>
                    </span>
                  </span>
                  <div className="clip t3">{visible(channel.target)}</div>
                  {channel.health.acceptedAt !== undefined && (
                    <div className="t3">
                      Last accepted <Moment at={channel.health.acceptedAt} short />
                    </div>
                  )}
                  {channel.health.state === 'failing' && (
                    <div className="clip bad">{visible(channel.health.error ?? '')}</div>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Read>
    </Section>
  );
}

/** @throws Error with what the receiver said */
async function test(id: string): Promise<void> {
  const { accepted, deliveries } = await client.testChannel({ params: { id } });
  if (!accepted) throw new Error(deliveries.map(({ detail, status }) => detail ?? status).join('; '));
}

function RouteTree() {
  const routes = useRead(['routes'], (signal) => client.getRoutes({ signal }));
  return (
    <Section title="Routes" note="the first that matches wins">
      <Read read={routes} what="Routes" rows={2}>
        {({ document, problems }) =>
          document === null && problems.length === 0 ? (
            <Empty title="No routes yet.">
              Alerts go to no channel. Save routes with <code>agentlens routes apply routes.yaml</code>.
            </Empty>
          ) : (
            <>
              <Unreadable problems={problems} isWhole={document === null} />
              <ul className="sim">
                {document?.routes.map((route) => (
                  <li key={route.id} style={{ paddingInlineStart: `${depthOf(document, route.id) * 16}px` }}>
                    <span className="strong">{route.id}</span>{' '}
                    <code>{route.match.length === 0 ? 'every alert' : route.match.join(' ')}</code>
                    <span className="t3"> → {channelsOf(route.channels)}</span>
                  </li>
                ))}
              </ul>
              <Explain />
            </>
          )
        }
      </Read>
    </Section>
  );
}

function Unreadable({ problems, isWhole }: { readonly problems: Routing['problems']; readonly isWhole: boolean }) {
  const [first] = problems;
  if (first === undefined) return null;
  return (
    <Note tone="warn" icon={<Icon name="alerts" size={14} />}>
      {isWhole
        ? 'These routes cannot be read, so every alert goes to the default channels. '
        : 'Some routes cannot be read; the route above takes their alerts. '}
      Save the routes again. {visible(first.path)} {visible(first.message)}
    </Note>
  );
}

type Document = NonNullable<Routing['document']>;

/** A route comes after the one above it, so this ends. */
function depthOf({ routes }: Document, id: string): number {
  const under = routes.find((route) => route.id === id)?.under;
  return under === undefined
    ? 0
    : 1 +
        depthOf(
          {
            routes: routes.slice(
              0,
              routes.findIndex((one) => one.id === id),
            ),
          } as Document,
          under,
        );
}

function channelsOf(channels: readonly string[] | undefined): string {
  if (channels === undefined) return 'as above';
  return channels.length === 0 ? 'no channel, on purpose' : channels.join(', ');
}

/** Labels as typed, such as `severity=critical agent=bot`. */
function Explain() {
  const [text, setText] = useState('severity=critical');
  const words = text.split(/\s+/).filter((word) => /^\w+=/.test(word));
  const labels = Object.fromEntries(
    words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  );
  const answer = useRead(['routes', 'explain', JSON.stringify(labels)], (signal) =>
    client.explainRoutes({ body: { labels }, signal }),
  );
  return (
    <div className="topped">
      <label className="t2">
        Where would an alert go with these labels?{' '}
        <input className="in" value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <ul className="sim">
        {answer.data?.channels.map(({ channel, notified, because }) => (
          <li key={channel} className={notified ? '' : 't3'}>
            <span className="strong">{channel}</span> {visible(because)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function SilenceList() {
  const silences = useRead(['silences'], (signal) => client.listSilences({ signal }));
  const run = useChange('silences');
  return (
    <Section title="Silences">
      <Read read={silences} what="Silences" rows={1}>
        {(data) => {
          const open = data.silences.filter(({ state }) => state !== 'ended');
          return open.length === 0 ? (
            <p className="hint topped">
              Nothing is silent. <code>agentlens silences create agent=bot --for 2h -m deploy</code>
            </p>
          ) : (
            <ul className="sim">
              {open.map((silence) => (
                <SilenceRow
                  key={silence.id}
                  silence={silence}
                  onEnd={() => void run('Ended', () => client.endSilence({ params: { id: silence.id } }))}
                />
              ))}
            </ul>
          );
        }}
      </Read>
    </Section>
  );
}

function SilenceRow({ silence, onEnd }: { readonly silence: ListedSilence; readonly onEnd: () => void }) {
  const { matchers, comment, by, endsAt, problem } = silence;
  return (
    <li>
      <span className="row wrap">
        <code>{visible(matchers.join(' '))}</code>
        <span className="ml">
          <Act scope="operate" kind="sm" onPress={onEnd}>
            End now
          </Act>
        </span>
      </span>
      <span className="t3">
        {visible(comment)}, by {visible(by)}, until <Moment at={endsAt} />
      </span>
      {problem !== undefined && <div className="clip bad">{visible(problem)}</div>}
    </li>
  );
}

/** Connects the Slack account that pressed a button with the person or key that is signed in here. */
export function LinkSlackPage() {
  const [linked, setLinked] = useState<string>();
  // In the fragment, so that no server on the way logs it.
  const token = decodeURIComponent(location.hash.slice(1));
  const link = async () => {
    try {
      const { user, workspace } = await client.linkChat({ body: { token } });
      setLinked(`${user} of ${workspace}`);
    } catch (error) {
      toastError('Not linked', error);
    }
  };
  return (
    <Page name="settings" title="Link your Slack account" time="Now">
      <div className="pad">
        {linked === undefined ? (
          <>
            <p className="plain">
              Buttons that this Slack account presses will count as your decisions. Continue only if you have pressed a
              button in Slack yourself.
            </p>
            <div className="btns topped">
              <Act scope="review" kind="pri" disabled={token === ''} onPress={() => void link()}>
                Link this account
              </Act>
            </div>
          </>
        ) : (
          <p className="plain">Linked {linked}. Press the button in Slack again.</p>
        )}
      </div>
    </Page>
  );
}
