import { describe, expect, it } from '@jest/globals';
import { Message } from '../../core/message.ts';
import { AgentSession } from '../../session/agent-session.ts';
import type { SessionStore } from '../../session/session-store.ts';

/** Contract of every session store. `open` returns a store without other test data. */
export function sessionStoreContract(name: string, open: () => Promise<SessionStore>): void {
  describe(`${name} as a session store`, () => {
    it('returns what was saved, in order', async () => {
      const store = await open();
      const session = new AgentSession('coder', { model: 'm', provider: 'p', metadata: { a: { b: [1, null] } } });
      session.addMessage(Message.user('hello'));
      session.addMessage(
        Message.assistant([
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'text', text: 'ünï 👋' },
        ]),
      );
      await session.save(store);
      session.setMetadata('later', 1);
      session.addChildSession('child-1');
      await session.save();
      const loaded = await AgentSession.load(store, session.sessionId);
      expect(loaded.getHistory()).toEqual(session.getHistory());
      expect(loaded.toMetadata()).toEqual(session.toMetadata());
      expect(loaded.getMetadata('later')).toBe(1);
    });

    it('continues a loaded session', async () => {
      const store = await open();
      const session = new AgentSession('coder');
      session.addMessage(Message.user('one'));
      await session.save(store);
      const loaded = await AgentSession.load(store, session.sessionId);
      loaded.addMessage(Message.assistant('two'));
      loaded.editHistory((history) => history.slice(1));
      await loaded.save();
      const { entries, torn } = await store.load(session.sessionId);
      expect(entries.map(({ seq, type }) => [seq, type])).toEqual([
        [1, 'message'],
        [2, 'message'],
        [3, 'history-replaced'],
      ]);
      expect(torn).toBe(false);
      expect((await AgentSession.load(store, session.sessionId)).getHistory()).toEqual([Message.assistant('two')]);
    });

    it('lists sessions by kind and parent, oldest first', async () => {
      const store = await open();
      const kind = `kind-${Math.random().toString(36).slice(2)}`;
      const parent = new AgentSession(kind);
      await parent.save(store);
      const child = AgentSession.subagent(kind, parent.sessionId, 'call-1');
      await child.save(store);
      expect(await store.list({ agentType: kind })).toEqual([parent.sessionId, child.sessionId]);
      expect(await store.list({ agentType: kind, parentSessionId: parent.sessionId })).toEqual([child.sessionId]);
      expect(await AgentSession.listAll(store, { agentType: kind, parentSessionId: null })).toEqual([parent.sessionId]);
    });

    it('does not find a session that was not created or was deleted', async () => {
      const store = await open();
      await expect(store.load('missing')).rejects.toMatchObject({ code: 'session_not_found' });
      const session = new AgentSession('coder');
      await session.save(store);
      await expect(store.create(session.toMetadata())).rejects.toMatchObject({ code: 'conflict' });
      await store.delete(session.sessionId);
      await expect(store.load(session.sessionId)).rejects.toMatchObject({ code: 'session_not_found' });
    });

    it('has one owner at a time', async () => {
      const store = await open();
      const session = new AgentSession('coder');
      await session.save(store);
      const lease = await store.acquire(session.sessionId, 'a');
      await expect(store.acquire(session.sessionId, 'b')).rejects.toMatchObject({ code: 'session_busy' });
      await lease.release();
      const next = await store.acquire(session.sessionId, 'b');
      // A late release does not affect the next owner.
      await lease.release();
      await expect(store.acquire(session.sessionId, 'c')).rejects.toMatchObject({ code: 'session_busy' });
      await next.release();
    });
  });
}
