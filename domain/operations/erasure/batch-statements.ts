import type { ErasureStep } from './erasure-step.ts';
import { quoted } from './quoted.ts';

/**
 * The statements of a step over rows of one table, in the order of the primary key, for `app.erase_batch`. Both take
 * the tenant as $1 and the key of the row before as $2, null at the beginning.
 */
export interface BatchStatements {
  /** The key of the last of $3 rows; none when fewer are left. Null: the tenant has one row at most. */
  find: string | null;
  /** Erases the rows up to the key $3, or to the end. */
  erase: string;
}

/** @param leaves only rows that no row of the table refers to */
export function batchStatements(step: ErasureStep, leaves: boolean): BatchStatements {
  const table = quoted(step.table);
  const columns = step.key.map(({ name }) => quoted(name));
  const isDescending = step.selfReferences.length > 0;
  const bound = (parameter: string, side: 'behind' | 'up to') => {
    if (columns.length === 0) return '';
    const values = step.key.map(({ type }, n) => `cast((${parameter}::text[])[${n + 1}] as ${type})`);
    const isGreater = (side === 'behind') !== isDescending;
    const operator = `${isGreater ? '>' : '<'}${side === 'up to' ? '=' : ''}`;
    return `and (${parameter}::text[] is null or (${columns.join(', ')}) ${operator} (${values.join(', ')}))`;
  };
  const cleared = step.clears.map((name) => quoted(name));
  const change =
    cleared.length > 0
      ? `update ${table} set ${cleared.map((name) => `${name} = null`).join(', ')}`
      : `delete from ${table}`;
  const linked =
    cleared.length > 0 ? `and (${cleared.map((name) => `${name} is not null`).join(' or ')})` : '';
  const order = columns.map((name) => (isDescending ? `${name} desc` : name)).join(', ');
  return {
    find:
      columns.length === 0
        ? null
        : `select array[${columns.map((name) => `${name}::text`).join(', ')}] from ${table}
           where tenant_id = $1 ${bound('$2', 'behind')} order by ${order} offset $3 - 1 limit 1`,
    erase: `${change} where tenant_id = $1 ${bound('$2', 'behind')} ${bound('$3', 'up to')} ${linked} ${leaves ? unreferenced(step) : ''}`,
  };
}

function unreferenced({ table, selfReferences }: ErasureStep): string {
  const conditions = selfReferences.map((pairs) => {
    const same = pairs.map(([mine, named]) => `r.${quoted(mine)} = ${quoted(table)}.${quoted(named)}`);
    return `and not exists (select from ${quoted(table)} r where ${same.join(' and ')})`;
  });
  return conditions.join(' ');
}
