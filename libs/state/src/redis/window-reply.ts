import type { AdvanceAnswer, Bin, Bins, CooldownHolder, Totals } from '@agentlens/guardrails';
import { greatestBins, NO_TOTALS } from '@agentlens/guardrails/ports';
import { toNumber } from '../exact-numbers.ts';
import { answerAgain, type WindowQuestion } from '../windows/question.ts';
import type { AdvanceCall } from './advance-call.ts';
import { binOfNumber } from './bin-numbers.ts';

const DOUBLE = 8;
const INTEGER = 4;
/** Bytes of a bin number; its count takes the remaining five of eight. */
const BIN = 3;
const REPEATED = 0x31;
const LINE_FEED = 0x0a;

/**
 * Parses the answer of lua/advance-windows.lua for one message. For a message that was counted before, it contains the
 * stored question and answer.
 */
export function readAdvanced(
  coming: AdvanceCall['coming'][number],
  question: WindowQuestion,
  reply: Buffer,
): AdvanceAnswer {
  const answer = readReply(question, reply);
  return { ...answer, before: answer.before.map((totals, at) => withoutSpareBins(totals, coming.get(at) ?? 0)) };
}

function readReply(question: WindowQuestion, reply: Buffer): AdvanceAnswer {
  if (reply[0] !== REPEATED) return readAnswer(question, new Reader(reply, 1));
  const end = reply.indexOf(LINE_FEED);
  const kept = JSON.parse(reply.toString('utf8', 1, end)) as WindowQuestion;
  return answerAgain(question, kept, readAnswer(kept, new Reader(reply, end + 1)));
}

/** Drops bins that are not needed. A reply contains the bins that are cheap to read, which may be more. */
function withoutSpareBins(totals: Totals, coming: number): Totals {
  if (totals.bins.length === 0) return totals;
  return { ...totals, bins: greatestBins(totals.bins, totals.count, coming) };
}

/** Parses the answer of lua/read-windows.lua for one series. */
export function readTotals(series: string, reply: Buffer): Totals {
  return reply.length === 0 ? NO_TOTALS : new Reader(reply, 0).totals(series);
}

function readAnswer({ series, cooldowns }: WindowQuestion, reader: Reader): AdvanceAnswer {
  const duplicates = Array.from({ length: reader.integer() }, () => reader.integer());
  const cooling: (CooldownHolder | null)[] = cooldowns.map(() => null);
  for (let held = reader.integer(); held > 0; held--) cooling[reader.integer()] = reader.holder();
  return { before: series.map((name) => reader.totals(name)), duplicates, cooling };
}

/** Reads the parts of a reply in sequence. */
class Reader {
  readonly #reply: Buffer;
  #at: number;

  constructor(reply: Buffer, at: number) {
    this.#reply = reply;
    this.#at = at;
  }

  integer(): number {
    this.#at += INTEGER;
    return this.#reply.readUInt32LE(this.#at - INTEGER);
  }

  holder(): CooldownHolder {
    const length = this.integer();
    const text = this.#reply.toString('utf8', this.#at, this.#at + length);
    this.#at += length;
    const [atMs, triggerId = '', rearmedAtMs] = text.split(' ');
    return {
      atMs: Number(atMs),
      triggerId,
      ...(rearmedAtMs === undefined ? {} : { rearmedAtMs: Number(rearmedAtMs) }),
    };
  }

  /** The shape at the end of the name determines the layout. */
  totals(series: string): Totals {
    const count = this.#double();
    const sum = toNumber({ high: this.#double(), low: this.#double() });
    if (series.endsWith(':sum')) return count === 0 ? NO_TOTALS : { ...NO_TOTALS, count, sum };
    const [min, max] = [this.#double(), this.#double()];
    const last = { atMs: this.#double(), value: this.#double() };
    const bins = series.endsWith(':quantiles') ? this.#bins() : NO_TOTALS.bins;
    return count === 0 ? NO_TOTALS : { count, sum, min, max, last, bins };
  }

  #double(): number {
    this.#at += DOUBLE;
    return this.#reply.readDoubleLE(this.#at - DOUBLE);
  }

  #bins(): Bins {
    const length = this.integer();
    const bins: Bin[] = [];
    const end = this.#at + length;
    for (let at = this.#at; at + DOUBLE <= end; at += DOUBLE) {
      bins.push({
        bin: binOfNumber(this.#reply.readUIntLE(at, BIN)),
        count: this.#reply.readUIntLE(at + BIN, DOUBLE - BIN),
      });
    }
    this.#at = end;
    return bins;
  }
}
