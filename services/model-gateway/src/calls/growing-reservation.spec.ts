import type { ModelRefusal } from '@agentlens/model-api';
import { describe, expect, it } from '@jest/globals';
import type { EstimatedUsage } from './estimate.ts';
import { GrowingReservation } from './growing-reservation.ts';

const REFUSAL: ModelRefusal = { kind: 'money', code: 'agentlens_budget', message: 'Spent' };

/** A reservation whose budget has room for so many tokens of the answer. Questions wait until `answer` is called. */
function reservationWith(room: number, stepTokens = 1_000, maxTokens?: number) {
  const asked: number[] = [];
  const used: number[] = [];
  const waiting: (() => void)[] = [];
  const stopped: ModelRefusal[] = [];
  const ending = new AbortController();
  const signals: AbortSignal[] = [];
  const renewed: number[] = [];
  const reservation = new GrowingReservation(
    {
      estimate: { stepTokens, maxTokens, usageAt: (tokens) => ({ tokens, costUsd: tokens }) },
      grow: async ({ tokens }: EstimatedUsage, inReservation: EstimatedUsage, signal: AbortSignal) => {
        asked.push(tokens);
        used.push(inReservation.tokens);
        signals.push(signal);
        await new Promise<void>((resolve) => waiting.push(resolve));
        return tokens <= room ? undefined : REFUSAL;
      },
      renew: async ({ tokens }) => void renewed.push(tokens),
    },
    ending.signal,
    (refusal) => stopped.push(refusal),
  );
  const answer = async () => {
    waiting.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { reservation, asked, used, stopped, answer, ending, signals, renewed };
}

describe('a reservation of an answer that streams', () => {
  it('asks for the next step when a fifth of the last one is left, once', async () => {
    const { reservation, asked, answer } = reservationWith(10_000);
    void reservation.streamed(799);
    expect(asked).toEqual([]);
    void reservation.streamed(800);
    void reservation.streamed(900);
    expect(asked).toEqual([2_000]);
    await answer();
    void reservation.streamed(1_799);
    void reservation.streamed(1_801);
    expect(asked).toEqual([2_000, 3_000]);
  });

  it('covers a chunk that holds several steps', () => {
    const { reservation, asked } = reservationWith(10_000);
    void reservation.streamed(4_500);
    expect(asked).toEqual([5_000]);
  });

  it('used no more of its reservation than there is, also after a chunk beyond the limit of the client', () => {
    const { reservation, asked, used } = reservationWith(10_000, 1_000, 2_000);
    void reservation.streamed(4_500);
    expect({ asked, used }).toEqual({ asked: [2_000], used: [1_000] });
  });

  it('holds an answer up that is faster than the question', async () => {
    const { reservation, answer } = reservationWith(10_000);
    expect(reservation.streamed(800)).toBeUndefined();
    expect(reservation.streamed(1_000)).toBeUndefined();
    const waits = reservation.streamed(1_001);
    expect(waits).toBeInstanceOf(Promise);
    await answer();
    await waits;
    expect(reservation.streamed(1_002)).toBeUndefined();
  });

  it('stops the answer that is refused, once', async () => {
    const { reservation, asked, stopped, answer } = reservationWith(1_500);
    void reservation.streamed(900);
    await answer();
    expect(stopped).toEqual([REFUSAL]);
    void reservation.streamed(5_000);
    expect(asked).toEqual([2_000]);
  });

  it('never asks for more than the client accepts', async () => {
    const { reservation, asked, answer } = reservationWith(10_000, 1_000, 1_300);
    void reservation.streamed(950);
    await answer();
    void reservation.streamed(1_400);
    expect(asked).toEqual([1_300]);
    const small = reservationWith(0, 5, 5);
    void small.reservation.streamed(9);
    expect(small.asked).toEqual([]);
  });

  it('grows beyond the limit of the client if the provider ignores it', () => {
    const { reservation, asked } = reservationWith(10_000, 5, 5);
    void reservation.streamed(1_010);
    expect(asked).toEqual([]);
    void reservation.streamed(1_011);
    expect(asked).toEqual([1_015]);
  });

  it('is renewed with what is reserved, but not beside a question or after its end', async () => {
    const { reservation, renewed, answer } = reservationWith(10_000);
    reservation.renew();
    await answer();
    void reservation.streamed(800);
    reservation.renew();
    await answer();
    reservation.renew();
    await reservation.end();
    reservation.renew();
    expect(renewed).toEqual([1_000, 2_000]);
  });

  it('waits at its end for the question that is open, and asks no further', async () => {
    const { reservation, asked, answer } = reservationWith(10_000);
    void reservation.streamed(800);
    let hasEnded = false;
    const ended = reservation.end().then(() => {
      hasEnded = true;
    });
    await Promise.resolve();
    expect(hasEnded).toBe(false);
    await answer();
    await ended;
    void reservation.streamed(5_000);
    expect(asked).toEqual([2_000]);
  });

  it('holds nothing up, and wants no answer, once the stream ends from here', async () => {
    const { reservation, ending, signals } = reservationWith(10_000);
    const waits = reservation.streamed(1_500);
    ending.abort();
    await waits;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('wants no further answer at its end', async () => {
    const { reservation, answer, signals } = reservationWith(10_000);
    void reservation.streamed(800);
    const ended = reservation.end();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    await answer();
    await ended;
  });
});
