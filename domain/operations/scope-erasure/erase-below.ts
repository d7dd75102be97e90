import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { TenantTable } from '#domain/operations/erasure/read-catalogue.ts';
import { isReferred, isTimeout } from '#domain/operations/erasure/sql-states.ts';
import type { Branch, ScopePlan } from './plan-scope.ts';
import { eraseKeys, listBelow, takeBelow, type Key } from './scope-rows.ts';

/** As for a whole tenant: locks are held for about half of `lockMs` and never longer. */
const aimMs = 40;
const lockMs = 90;
const firstSize = 64;
const maxRows = 20_000;
/** Rows whose keys are read before what hangs below them is erased. */
const maxKeys = 1_000;
/** Tables below each other; more of them are a circle of rows. */
const maxDepth = 20;
/** Passes over what hangs below some rows while others go on writing there. */
const maxPasses = 5;

/** The time of this pass is up; the next one begins with what is left. */
export class Paused extends Error {
  constructor() {
    super('The erasure is paused.');
    this.name = 'Paused';
  }
}

export interface ErasePass {
  /** Runs as the purge role. */
  purge: UnitOfWork;
  tenantId: string;
  plan: ScopePlan;
  /** Asked before each batch. */
  mayGoOn: () => boolean;
  /** Runs in the transaction that has erased so many rows of a table. */
  also: (em: EntityManager, table: string, rows: number) => Promise<void>;
}

/**
 * Erases what hangs below rows of a tenant, from the rows themselves: a page of them, first what hangs below it. Each
 * batch is a transaction, and what is left is the place of the next one, so a pass may end anywhere, and be repeated.
 */
export class Eraser {
  readonly #pass: ErasePass;
  readonly #sizes = new Map<string, number>();
  /** Self-referring tables in which a row is referred to by an earlier one. */
  readonly #leaves = new Set<string>();

  constructor(pass: ErasePass) {
    this.#pass = pass;
  }

  /** @throws Paused, and the database's errors */
  async eraseBelow(above: TenantTable, keys: readonly Key[], depth = 0): Promise<void> {
    if (depth > maxDepth) throw new Error(`Rows of ${above.name} belong to each other in a circle.`);
    for (const branch of this.#pass.plan.below(above.name)) {
      let left = true;
      while (left) left = await this.#erasePage(branch, { above, keys, depth });
    }
  }

  /** Erases rows with what hangs below them; not more than a batch of them. */
  async eraseRows(table: TenantTable, keys: readonly Key[], depth = 0): Promise<void> {
    for (let pass = 1; ; pass += 1) {
      await this.eraseBelow(table, keys, depth);
      try {
        await this.#eraseKeys(table, keys);
        return;
      } catch (error) {
        if (!isReferred(error) || pass === maxPasses) throw error;
      }
    }
  }

  /** @returns whether more may be left */
  async #erasePage(
    branch: Branch,
    { above, keys, depth }: { above: TenantTable; keys: readonly Key[]; depth: number },
  ): Promise<boolean> {
    const { table, clears } = branch;
    const isLeaf = clears !== null || this.#pass.plan.below(table.name).length === 0;
    const max = isLeaf ? maxRows : maxKeys;
    const below = (size: number) => ({ branch, above, keys, size, leaves: this.#leaves.has(table.name) });
    try {
      if (isLeaf) {
        const { size, result } = await this.#sized(table.name, max, async (em, size) => {
          const rows = await takeBelow(em, below(size));
          if (clears === null) await this.#pass.also(em, table.name, rows);
          return rows;
        });
        return result === size;
      }
      const { size, result: page } = await this.#sized(table.name, max, (em, size) =>
        listBelow(em, below(size)),
      );
      if (page.length > 0) await this.eraseRows(table, page, depth + 1);
      return page.length === size;
    } catch (error) {
      const mayRetry = branch.selfReferences.length > 0 && !this.#leaves.has(table.name);
      if (!mayRetry || !(isReferred(error) || isTimeout(error))) throw error;
      this.#leaves.add(table.name);
      return true;
    }
  }

  async #eraseKeys(table: TenantTable, keys: readonly Key[]): Promise<void> {
    try {
      await this.#inBatch(keys.length > 1, async (em) => {
        await this.#pass.also(em, table.name, await eraseKeys(em, table, keys));
      });
    } catch (error) {
      if (!isTimeout(error) || keys.length === 1) throw error;
      const half = Math.ceil(keys.length / 2);
      this.#sizes.set(table.name, half);
      await this.#eraseKeys(table, keys.slice(0, half));
      await this.#eraseKeys(table, keys.slice(half));
    }
  }

  async #sized<T>(
    table: string,
    max: number,
    work: (em: EntityManager, size: number) => Promise<T>,
  ): Promise<{ size: number; result: T }> {
    for (;;) {
      const size = this.#sizes.get(table) ?? firstSize;
      try {
        const begun = performance.now();
        const result = await this.#inBatch(size > 1, (em) => work(em, size));
        const factor = Math.min(4, aimMs / Math.max(performance.now() - begun, 1));
        this.#sizes.set(table, Math.min(max, Math.max(1, Math.floor(size * factor))));
        return { size, result };
      } catch (error) {
        if (!isTimeout(error) || size === 1) throw error;
        this.#sizes.set(table, Math.max(1, Math.floor(size / 4)));
      }
    }
  }

  /** A transaction whose statements are short. The rows above are few: each is looked up, whatever the statistics say. */
  async #inBatch<T>(isLimited: boolean, work: (em: EntityManager) => Promise<T>): Promise<T> {
    const { purge, tenantId, mayGoOn } = this.#pass;
    if (!mayGoOn()) throw new Paused();
    return purge.inTenant(tenantId, async (em) => {
      await em.execute(
        `select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)
         ${isLimited ? `, set_config('statement_timeout', '${lockMs}', true)` : ''}`,
      );
      return work(em);
    });
  }
}
