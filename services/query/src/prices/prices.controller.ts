import { COMMANDS, type PricedCall, type Reprice } from '@agentlens/contracts';
import { repriceFromRow } from '@agentlens/database';
import {
  checkInvoice,
  createReprice,
  deletePriceOverride,
  getCostDifferences,
  getPrices,
  getReprice,
  getUnpricedUsage,
  listUsageSources,
  listPriceOverrides,
  listReprices,
  loadPriceTable,
  type RequestOf,
  setPriceOverride,
} from '@agentlens/operations';
import { type Caller, type Clock, CurrentCaller, FromRequest, PriceBooks, port, Serves } from '@agentlens/platform';
import { OwnPrices } from '@agentlens/prices';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404, TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { InvoiceQueries } from './invoice.queries.ts';
import { PricesRepository } from './prices.repository.ts';
import { UsageQueries } from './usage.queries.ts';

const MAX_REPRICES = 100;

@Injectable()
export class RepricesQueries {
  constructor(private readonly reads: TenantReads) {}

  /** @param id returns only this reprice */
  async newest(tenantId: string, id?: string): Promise<readonly Reprice[]> {
    const rows = await this.reads.read(tenantId, (db) => {
      const query = db.selectFrom('reprices').selectAll().where('tenant_id', '=', tenantId);
      const narrowed = id === undefined ? query : query.where('reprice_id', '=', id);
      return narrowed.orderBy('started_at', 'desc').orderBy('reprice_id', 'desc').limit(MAX_REPRICES).execute();
    });
    return rows.map(repriceFromRow);
  }
}

const PRICE = 'Price';

/** Prices, and what depends on them: unpriced calls, reprices and invoices. */
@Controller()
export class PricesController {
  constructor(
    private readonly prices: PricesRepository,
    private readonly usage: UsageQueries,
    private readonly reprices: RepricesQueries,
    private readonly invoices: InvoiceQueries,
    private readonly commands: Commands,
    private readonly names: KeyNames,
    @Inject(PriceBooks) private readonly books: PriceBooks,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(getPrices)
  async get(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof getPrices>) {
    const table = await this.prices.table();
    const { model, provider, at } = query;
    if (model === undefined) return { table };
    // Read from the database, so that a price set a moment ago is explained.
    const own = new OwnPrices(this.books.table, await this.prices.list(tenantId));
    const atMs = at === undefined ? this.clock.now() : Date.parse(at);
    return { table, price: this.#explained({ model, provider, usage: MILLION_INPUT, atMs }, own) };
  }

  #explained(call: PricedCall, own: OwnPrices) {
    const { model, provider, atMs } = call;
    const quote = own.quote(call);
    const listed = this.books.table.listed(call);
    const known = typeof listed === 'string' ? undefined : listed;
    return {
      ...{ model, provider, at: new Date(atMs).toISOString(), overrides: own.matching(call) },
      source: 'unpriced' in quote ? ('none' as const) : sourceOf(quote.priceRef),
      priceRef: 'unpriced' in quote ? undefined : quote.priceRef,
      reason: 'unpriced' in quote ? quote.unpriced : undefined,
      listed: known && { provider: known.providerId, model: known.modelId, rates: known.rates },
      estimateUsdPerMillionInput: 'unpriced' in quote ? quote.estimateUsd : undefined,
    };
  }

  @Serves(loadPriceTable)
  async load(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof loadPriceTable>) {
    const { author } = await this.names.authorOf(caller);
    const models = await this.prices.loadTable(body.version, body.providers, author);
    await this.books.look();
    return { table: await this.prices.table(), models };
  }

  @Serves(listPriceOverrides)
  async list(@CurrentCaller() { tenantId }: Caller) {
    return { overrides: await this.prices.list(tenantId) };
  }

  @Serves(setPriceOverride)
  async set(@CurrentCaller() caller: Caller, @FromRequest() { body, headers }: RequestOf<typeof setPriceOverride>) {
    const { author } = await this.names.authorOf(caller);
    return this.prices.set(body, { tenantId: caller.tenantId, author, ifVersion: headers['if-match'] });
  }

  @Serves(deletePriceOverride)
  async delete(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, headers }: RequestOf<typeof deletePriceOverride>,
  ) {
    const { author } = await this.names.authorOf(caller);
    const change = { tenantId: caller.tenantId, author, ifVersion: headers['if-match'] };
    foundOr404(PRICE, (await this.prices.delete(id, change)) ? true : undefined);
    return { ok: true as const };
  }

  @Serves(createReprice)
  async reprice(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createReprice>) {
    const { author } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.startReprice, { tenantId: caller.tenantId, body, author });
  }

  @Serves(listReprices)
  async listReprices(@CurrentCaller() { tenantId }: Caller) {
    return { reprices: await this.reprices.newest(tenantId) };
  }

  @Serves(getReprice)
  async getReprice(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params }: RequestOf<typeof getReprice>) {
    return foundOr404('Reprice', (await this.reprices.newest(tenantId, params.id))[0]);
  }

  @Serves(getUnpricedUsage)
  unpriced(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof getUnpricedUsage>) {
    return this.usage.unpriced(tenantId, query);
  }

  @Serves(listUsageSources)
  async sources(@CurrentCaller() { tenantId }: Caller) {
    return { sources: await this.usage.sources(tenantId) };
  }

  @Serves(getCostDifferences)
  differences(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof getCostDifferences>) {
    return this.usage.differences(tenantId, query);
  }

  @Serves(checkInvoice)
  invoice(@CurrentCaller() { tenantId }: Caller, @FromRequest() { body }: RequestOf<typeof checkInvoice>) {
    return this.invoices.check(tenantId, body);
  }
}

const MILLION_INPUT = { inputTokens: 1_000_000, outputTokens: 0 };

function sourceOf(priceRef: string): 'override' | 'table' {
  return priceRef.startsWith('override:') ? 'override' : 'table';
}
