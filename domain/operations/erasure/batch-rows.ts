import type { EntityManager } from '@mikro-orm/postgresql';
import type { ErasureStep } from './erasure-step.ts';
import { quoted } from './quoted.ts';

/** The SQL of a step: rows of one table, of one tenant, in the order of the primary key. */
export class BatchRows {
  readonly #step: ErasureStep;
  readonly #tenantId: string;
  readonly #table: string;
  readonly #columns: readonly string[];
  readonly #descending: boolean;

  constructor(step: ErasureStep, tenantId: string) {
    this.#step = step;
    this.#tenantId = tenantId;
    this.#table = quoted(step.table);
    this.#columns = step.key.map(({ name }) => quoted(name));
    this.#descending = step.selfReferences.length > 0;
  }

  /**
   * The key of the last of `size` rows behind `after`; null when fewer are left.
   * @param limitMs for each later statement of the transaction, which the same round trip sets; null: as it is
   */
  async findLast(
    em: EntityManager,
    { after, size, limitMs }: { after: string[] | null; size: number; limitMs: number | null },
  ): Promise<string[] | null> {
    const texts = this.#columns.map((name) => `${name}::text`).join(', ');
    const order = this.#columns.map((name) => (this.#descending ? `${name} desc` : name)).join(', ');
    const find =
      texts === ''
        ? 'null'
        : `(select to_jsonb(array[${texts}]) from ${this.#table}
            where tenant_id = ? ${this.#bound(after, 'behind')} order by ${order} offset ? limit 1)`;
    const limit = limitMs === null ? '' : `, set_config('statement_timeout', '${limitMs}', true)`;
    const [row] = await em.execute<{ key: string[] | null }[]>(
      `select ${find} as key ${limit}`,
      texts === '' ? [] : [this.#tenantId, ...(after ?? []), size - 1],
    );
    return row?.key ?? null;
  }

  /**
   * Erases the rows behind `after` up to `last`, or to the end.
   * @param leaves only rows that no row of the table refers to
   * @returns the number of rows
   */
  async erase(
    em: EntityManager,
    { after, last, leaves }: { after: string[] | null; last: string[] | null; leaves: boolean },
  ): Promise<number> {
    const cleared = this.#step.clears.map((name) => quoted(name));
    const change =
      cleared.length > 0
        ? `update ${this.#table} set ${cleared.map((name) => `${name} = null`).join(', ')}`
        : `delete from ${this.#table}`;
    const linked =
      cleared.length > 0 ? `and (${cleared.map((name) => `${name} is not null`).join(' or ')})` : '';
    const [erased] = await em.execute<{ rows: number }[]>(
      `with erased as (
         ${change} where tenant_id = ? ${this.#bound(after, 'behind')} ${this.#bound(last, 'up to')} ${linked} ${leaves ? this.#unreferenced() : ''} returning 1)
       select count(*)::int as rows from erased`,
      [this.#tenantId, ...(after ?? []), ...(last ?? [])],
    );
    return erased?.rows ?? 0;
  }

  #unreferenced(): string {
    const conditions = this.#step.selfReferences.map((pairs) => {
      const same = pairs.map(([mine, named]) => `r.${quoted(mine)} = ${this.#table}.${quoted(named)}`);
      return `and not exists (select from ${this.#table} r where ${same.join(' and ')})`;
    });
    return conditions.join(' ');
  }

  #bound(key: string[] | null, side: 'behind' | 'up to'): string {
    if (key === null) return '';
    const values = this.#step.key.map(({ type }) => `cast(? as ${type})`);
    const greater = (side === 'behind') !== this.#descending;
    const operator = `${greater ? '>' : '<'}${side === 'up to' ? '=' : ''}`;
    return `and (${this.#columns.join(', ')}) ${operator} (${values.join(', ')})`;
  }
}
