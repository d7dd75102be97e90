import {
  BigIntType,
  EntityComparator,
  MetadataStorage,
  wrap,
  type EntityClass,
  type EntityMetadata,
} from '@mikro-orm/core';
import { own } from '#domain/foundation/kernel/own.ts';

interface Mapping {
  metadata: EntityMetadata;
  comparator: EntityComparator;
  /** By property name. */
  columns: Map<string, string>;
}

const mappings = new WeakMap<object, Mapping>();

/** The ORM's metadata of the entities with this prototype; available once one has been created in the process. */
function mappingOf(prototype: object): Mapping {
  let mapping = mappings.get(prototype);
  if (mapping === undefined) {
    // Taken from a sample, because the ORM marks each object whose metadata is read.
    const { __meta: metadata, __platform: platform } = wrap(Object.create(prototype) as object, true);
    const rounded = metadata.props.find(({ customType }) => customType instanceof BigIntType);
    if (rounded !== undefined) {
      const property = `${metadata.className}.${String(rounded.name)}`;
      throw new Error(`${property} is a bigint, which JSON rounds: read it as text.`);
    }
    const comparator = new EntityComparator(new MetadataStorage(), platform);
    const columns = new Map(metadata.props.map(({ name, fieldNames: [column] }) => [name, column ?? name]));
    mapping = { metadata, comparator, columns };
    mappings.set(prototype, mapping);
  }
  return mapping;
}

/** Maps a row that hot SQL returned as JSON to its entity; the ORM neither manages nor writes it. */
export function toEntity<T extends object>({ prototype }: EntityClass<T>, row: object): T {
  const { metadata, comparator } = mappingOf(prototype);
  return Object.assign(Object.create(prototype) as T, comparator.mapResult(metadata, row));
}

/** A copy of the entity, which can be changed independently. */
export function copyEntity<T extends object>(entity: T): T {
  return Object.assign(Object.create(Object.getPrototypeOf(entity) as object) as T, entity);
}

const none: ReadonlySet<string> = new Set();

/**
 * The columns in which `now` differs from `before`; null without a difference.
 * @param fixed properties that must not differ
 */
export function changedColumns(before: object, now: object, fixed = none): Record<string, unknown> | null {
  const old = before as Record<string, unknown>;
  const changed = Object.entries(now).filter(([name, value]) => value !== own(old, name));
  if (changed.length === 0) {
    return null;
  }
  const wrong = changed.find(([name]) => fixed.has(name));
  if (wrong !== undefined) {
    throw new Error(`${wrong[0]} cannot change.`);
  }
  const { columns } = mappingOf(Object.getPrototypeOf(now) as object);
  return Object.fromEntries(changed.map(([name, value]) => [columns.get(name) ?? name, value as unknown]));
}

/** A new row of an entity, keyed by its column names. */
export function entityColumns<T extends object>(
  { prototype }: EntityClass<T>,
  row: Partial<T>,
): Record<string, unknown> {
  const { columns } = mappingOf(prototype);
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [columns.get(name) ?? name, value]));
}

/** A new row, keyed by its column names. */
export function toColumns(row: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [toColumn(name), value as unknown]));
}

function toColumn(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
