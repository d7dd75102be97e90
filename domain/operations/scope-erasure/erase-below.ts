import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { maxLockMs } from '#domain/operations/erasure/erasure-database.ts';
import type { TenantTable } from '#domain/operations/erasure/read-catalogue.ts';
import { isReferred, isTimeout } from '#domain/operations/erasure/sql-states.ts';
import { lookUpRows } from './look-up-rows.ts';
import type { Branch, ScopePlan } from './plan-scope.ts';
import { clearKeys, eraseKeys, hasKey, listBelow, takeBelow, type Below, type Key } from './scope-rows.ts';

/** Less than `maxLockMs`, since a batch may take longer than the one before. */
const aimMs = 40;
const firstSize = 64;
/** Rows whose keys are read at once: the next reading passes the index entries of all that were erased before. */
const maxKeys = 10_000;
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

interface Rows {
  table: TenantTable;
  keys: readonly Key[];
  depth: number;
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

  /** Erases what hangs below rows. @throws Paused, and the database's errors */
  async eraseBelow(rows: Rows): Promise<void> {
    for (const branch of this.#pass.plan.below(rows.table.name)) {
      let left = true;
      while (left) left = await this.#erasePage(branch, rows);
    }
  }

  /** Erases rows with what hangs below them. @throws Paused, and the database's errors */
  async eraseRows(rows: Rows): Promise<void> {
    const { table, keys, depth } = rows;
    if (depth > maxDepth) throw new Error(`Rows of ${table.name} belong to each other in a circle.`);
    for (let pass = 1; ; pass += 1) {
      await this.eraseBelow(rows);
      try {
        await this.#erase(table, keys);
        return;
      } catch (error) {
        if (!isReferred(error) || pass === maxPasses) throw error;
      }
    }
  }

  /** @returns whether more may be left */
  async #erasePage(branch: Branch, above: Rows): Promise<boolean> {
    const { table, clears, selfReferences } = branch;
    const below = { branch, above: above.table, keys: above.keys, leaves: this.#leaves.has(table.name) };
    if (!hasKey(table)) return this.#takePage(below);
    const page = await this.#inTransaction(null, (em) => listBelow(em, { ...below, size: maxKeys }));
    try {
      await (clears === null
        ? this.eraseRows({ table, keys: page, depth: above.depth + 1 })
        : this.#clear(branch, page));
    } catch (error) {
      if (!isReferred(error) || selfReferences.length === 0 || below.leaves) throw error;
      this.#leaves.add(table.name);
      return true;
    }
    // Without the last leaves, others are leaves.
    return below.leaves ? page.length > 0 : page.length === maxKeys;
  }

  /** Rows without a key are found and changed in one statement. */
  async #takePage(below: Omit<Below, 'size'>): Promise<boolean> {
    const { table, clears } = below.branch;
    const { size, rows } = await this.#sized(table, maxKeys, async (em, size) => {
      const rows = await takeBelow(em, { ...below, size });
      if (clears === null) await this.#pass.also(em, table.name, rows);
      return rows;
    });
    return rows === size;
  }

  async #erase(table: TenantTable, keys: readonly Key[]): Promise<void> {
    await this.#change(table, keys, async (em, some) => {
      const rows = await eraseKeys(em, table, some);
      await this.#pass.also(em, table.name, rows);
      return rows;
    });
  }

  async #clear(branch: Branch, keys: readonly Key[]): Promise<void> {
    await this.#change(branch.table, keys, (em, some) => clearKeys(em, branch, some));
  }

  /** Changes rows by their keys, batch by batch. */
  async #change(
    table: TenantTable,
    keys: readonly Key[],
    work: (em: EntityManager, some: readonly Key[]) => Promise<number>,
  ): Promise<void> {
    for (let done = 0; done < keys.length;) {
      const { size } = await this.#sized(table, keys.length - done, (em, size) =>
        work(em, keys.slice(done, done + size)),
      );
      done += size;
    }
  }

  /** A batch of as many rows as there is time for, at most `max`. */
  async #sized(
    { name }: TenantTable,
    max: number,
    work: (em: EntityManager, size: number) => Promise<number>,
  ): Promise<{ size: number; rows: number }> {
    for (;;) {
      const aim = this.#sizes.get(name) ?? firstSize;
      const size = Math.min(aim, max);
      try {
        const begun = performance.now();
        // A single row takes what it takes, but no others with it.
        const rows = await this.#inTransaction(size > 1 ? maxLockMs : null, (em) => work(em, size));
        const factor = Math.min(4, aimMs / Math.max(performance.now() - begun, 1));
        this.#sizes.set(name, Math.min(maxKeys, Math.max(1, Math.floor(Math.max(aim, size) * factor))));
        return { size, rows };
      } catch (error) {
        if (!isTimeout(error) || size === 1) throw error;
        this.#sizes.set(name, Math.max(1, Math.floor(size / 4)));
      }
    }
  }

  /** @param limitMs of each statement; null: as it is */
  async #inTransaction<T>(limitMs: number | null, work: (em: EntityManager) => Promise<T>): Promise<T> {
    const { purge, tenantId, mayGoOn } = this.#pass;
    if (!mayGoOn()) throw new Paused();
    return purge.inTenant(tenantId, async (em) => {
      await lookUpRows(em, limitMs);
      return work(em);
    });
  }
}
