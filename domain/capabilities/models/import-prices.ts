import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { ModelPrice } from './model-price.entity.ts';
import { Model } from './model.entity.ts';
import { findPublicPrice, readPriceFile } from './price-file.ts';
import { pricesInForce } from './prices-in-force.ts';
import type { Price } from './pricing.ts';
import { writePrice } from './set-price.ts';

export interface ImportPrices {
  /** A parsed public price file: see `readPriceFile`. */
  document: unknown;
  /** Only report the changes. */
  dryRun?: boolean;
}

export interface PriceImport {
  imported: { alias: string; providerModel: string; price: Price }[];
  /**
   * - `not_in_file`: the file has no such model of this provider.
   * - `no_exact_price`: it has no price per token, or a price with a fraction of a micro-dollar.
   * - `unchanged`: it equals the price in force.
   */
  skipped: {
    alias: string;
    providerModel: string;
    reason: 'not_in_file' | 'no_exact_price' | 'unchanged';
  }[];
}

/**
 * Imports new prices of the tenant's models from a public price file, in force from now on. Earlier prices stay.
 * @throws `missing_permission`, `invalid_request`
 */
export async function importPrices(ctx: Context, input: ImportPrices): Promise<PriceImport> {
  authorize(ctx.caller, 'prices.manage');
  const file = readPriceFile(input.document);
  if (input.dryRun !== true) {
    // Serialises imports, so that prices of a concurrent one are seen as in force.
    await ctx.em.execute('select from models order by alias for no key update');
  }
  const models = await ctx.em.find(
    Model,
    { providerKind: { $ne: 'builtin' } },
    { orderBy: { alias: 'asc' } },
  );
  const known = await pricesInForce(
    ctx.em,
    models.map(({ id }) => id),
  );
  const report: PriceImport = { imported: [], skipped: [] };
  for (const model of models) {
    const { alias, providerKind, providerModel } = model;
    const entry = findPublicPrice(file, { providerKind, providerModel, baseUrl: model.baseUrl ?? null });
    const price = entry?.price ?? null;
    if (price === null) {
      const reason = entry === null ? 'not_in_file' : 'no_exact_price';
      report.skipped.push({ alias, providerModel, reason });
    } else if (isSame(known.get(model.id), price)) {
      report.skipped.push({ alias, providerModel, reason: 'unchanged' });
    } else {
      if (input.dryRun !== true) {
        await writePrice(ctx, { model, price, validFrom: null });
      }
      report.imported.push({ alias, providerModel, price });
    }
  }
  return report;
}

function isSame(known: ModelPrice | undefined, price: Price): boolean {
  return (
    known?.inputMicroUsdPerMillion === price.inputMicroUsdPerMillion &&
    known.cachedInputMicroUsdPerMillion === price.cachedInputMicroUsdPerMillion &&
    known.outputMicroUsdPerMillion === price.outputMicroUsdPerMillion
  );
}
