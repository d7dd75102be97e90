import { own } from '#domain/foundation/kernel/own.ts';

const names = new Map<string, string>();

function toName(column: string): string {
  let name = names.get(column);
  if (name === undefined) {
    name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    names.set(column, name);
  }
  return name;
}

function toColumn(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const holdsTime = /_(at|since|until)$/;

/** A row that hot SQL answered as JSON, as its entity: the ORM does not manage it and writes nothing of it. */
export function toEntity<T extends object>(type: { prototype: T }, row: object): T {
  const values = Object.entries(row).map(([column, value]) => [
    toName(column),
    typeof value === 'string' && holdsTime.test(column) ? new Date(value) : (value as unknown),
  ]);
  return Object.assign(Object.create(type.prototype) as T, Object.fromEntries(values));
}

/** The same values once more, to be changed apart from the first. */
export function copyEntity<T extends object>(entity: T): T {
  return Object.assign(Object.create(Object.getPrototypeOf(entity) as object) as T, entity);
}

/** The columns in which `now` differs from `before`; null when it does in none. */
export function changedColumns(before: object, now: object): Record<string, unknown> | null {
  const old = before as Record<string, unknown>;
  const changed = Object.entries(now).filter(([name, value]) => value !== own(old, name));
  return changed.length === 0
    ? null
    : Object.fromEntries(changed.map(([name, value]) => [toColumn(name), value as unknown]));
}

/** A new row with the names of its columns. */
export function toColumns(row: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [toColumn(name), value as unknown]));
}
